"""The addresses that lanes access in a predecessor search, and what a warp's accesses cost: blocks, and bank passes.

Keys are numbered 0 to N - 1 in their order.  A query is the number of its predecessor, since key a is not larger than
it just where a is not above that number.  N is a power of two, unless a function says otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from scripts.lab.studies.karsin import WARP

Ints: TypeAlias = NDArray[np.int64]
SEED = 2018


def random_ranks(n: int, warps: int, first: int = 0, seed: int = SEED) -> Ints:
    """Draw queries of warps, each of first to n - 1, shape (warps, WARP)."""
    return np.random.default_rng(seed).integers(first, n, (warps, WARP))


def local_addresses(form: str, n: int, ranks: Ints) -> Ints:
    """Return the words that a list's search accesses, shape (accesses, *ranks.shape).

    The list has `n` words, the first WARP of which are not larger than any query: `ranks` are WARP - 1 or more.  The
    last axis of `ranks` are the lanes of a warp.  Forms: "naive", "free" and "limited" (section 6.2).
    """
    at = np.zeros_like(ranks) if form == "naive" else np.broadcast_to(np.arange(ranks.shape[-1]), ranks.shape)
    steps = [n >> (k + 1) for k in range(n.bit_length() - 1)]
    found = []
    for step in steps if form != "free" else [step for step in steps if step >= WARP]:
        found.append(at + step)
        at = np.where(found[-1] <= ranks, found[-1], at)
    if form == "free":
        found += [at + k for k in range(WARP)]
    return np.array(found)


def printed_addresses(n: int, ranks: Ints) -> tuple[Ints, Ints]:
    """Return the words that Algorithm 1 accesses as it is printed, and the predecessors that it finds; any `n`."""
    at, step = np.full_like(ranks, n // 2), -(-n // 4)
    found = []
    for _ in range((n - 1).bit_length()):
        found.append(at)
        at = np.where(at <= ranks, np.minimum(at + step, n - 1), np.maximum(at - step, 0))
        step = -(-step // 2)
    return np.array([*found, at]), np.where(ranks < at, at - 1, at)


def global_addresses(layout: str, n: int, ranks: Ints, children: int = WARP) -> Ints:
    """Return the words of global memory that a search accesses, shape (accesses, *ranks.shape).

    Of the B-tree the first word of each node, which lies in one block; its root has `children` children too, so that
    `n` is a power of `children`.
    """
    if layout == "sorted":
        return local_addresses("naive", n, ranks)
    fan = 2 if layout == "bst" else children
    found, first, below = [], 0, n
    while below > 1:
        found.append((first + ranks // below) * (1 if layout == "bst" else children))
        first, below = first * fan + 1, below // fan
    return np.array(found)


def worst_ranks(form: str, n: int) -> Ints:
    """Return a warp's queries with the most bank conflicts, shape (1, WARP); N is at least 2 w^2.

    Naive (Lemma 6.2.2): queries with a distance of N/w.  Conflict-limited: each lane is led by as many words as its
    number falls short of a multiple of w, from a different word of stage 1.
    """
    lanes = np.arange(WARP)
    if form == "naive":
        return (lanes * (n // WARP) + WARP - 1)[None]
    return (lanes + lanes * WARP + (-lanes) % WARP)[None]


def serialised(addresses: Ints, banks: int = WARP) -> Ints:
    """Return for each access of a warp the most distinct words in one bank, shape ``addresses.shape[:-1]``."""
    words = np.sort(addresses, axis=-1).reshape(-1, addresses.shape[-1])
    new = np.ones(words.shape, bool)
    new[:, 1:] = words[:, 1:] != words[:, :-1]
    places = (np.arange(len(words))[:, np.newaxis] * banks + words % banks)[new]
    passes: Ints = np.bincount(places, minlength=len(words) * banks).reshape(-1, banks).max(axis=1)
    return passes.reshape(addresses.shape[:-1])


def blocks(addresses: Ints, words: int = WARP) -> Ints:
    """Return for each access of a warp how many distinct blocks of so many words it touches."""
    places = np.sort(addresses // words, axis=-1)
    changes: Ints = (places[..., 1:] != places[..., :-1]).sum(axis=-1)
    return 1 + changes


def own_blocks(addresses: Ints, words: int = WARP) -> Ints:
    """Return for each query how many distinct blocks it touches in all of its accesses, shape of a query array."""
    return blocks(np.moveaxis(addresses, 0, -1), words)


def beta(form: str, n: int, warps: int = 256, banks: int = WARP) -> float:
    """Return the serialised accesses of random queries for one access of a warp, as counted [1]."""
    ranks = random_ranks(n, warps, WARP - 1)
    return float(serialised(local_addresses(form, n, ranks), banks).mean())


def expected_blocks(layout: str, n: int, warp: int = WARP, children: int = WARP) -> Sequence[float]:
    """Return the expected blocks of each access of a warp's random queries.

    Of b blocks that lanes take at random, b (1 - (1 - 1/b)^w) distinct ones are expected.  At step k the list has
    2^(k-1) words with a distance of N/2^(k-1); the trees' levels are contiguous, so that a level of v nodes has v/w
    blocks of the binary tree (as if levels began a block) and v of the B-tree.
    """
    places: list[float] = []
    if layout == "sorted":
        places = [min(2.0**k, n / warp) for k in range(n.bit_length() - 1)]
    elif layout == "bst":
        places = [max(2.0**k / warp, 1.0) for k in range(n.bit_length() - 1)]
    else:
        below = 1
        while below < n:
            places.append(float(below))
            below *= children
    return [b * (1 - (1 - 1 / b) ** warp) for b in places]
