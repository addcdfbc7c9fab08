"""The addresses of MGPU's merge in shared memory (Karsin 2018, section 7.1.2), and its conflicts beta_1 and beta_2.

A block of b threads merges b E elements: its part of the left run lies in words 0 to m - 1 of shared memory, its part
of the right run behind it. Thread t searches where the first t E elements of the result come from (merge path, two
reads a step), merges E elements (one read after each of them), and writes them to words t E to t E + E - 1.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scripts.lab.studies.karsin import WARP
from scripts.lab.studies.search_addresses import SEED, Ints, serialised

BLOCKS = 16
"""Blocks of random inputs over which conflicts are averaged."""


class Conflicts(NamedTuple):
    """Serialised accesses for one of a warp [1]: of the searches, of the merges' reads, and of their writes."""

    search: float
    reads: float
    writes: float

    @property
    def betas(self) -> tuple[float, float]:
        """beta_1 of the search, and beta_2 of the merge, in which each element is read once and written once."""
        return self.search, (self.reads + self.writes) / 2


def random_sides(each: int, group: int, blocks: int, seed: int = SEED) -> NDArray[np.bool_]:
    """Return for each element of the results whether it comes from the left run, shape (blocks, group*each)."""
    return np.random.default_rng(seed).integers(0, 2, (blocks, group * each)).astype(bool)


def split_points(sides: NDArray[np.bool_], each: int) -> Ints:
    """Return how many of the elements before each thread's first are from the left run, shape (blocks, threads)."""
    before: Ints = np.cumsum(sides, axis=1) - sides
    return before[:, ::each]


def search_addresses(sides: NDArray[np.bool_], each: int) -> tuple[Ints, NDArray[np.bool_], Ints]:
    """Return words, who accesses them, and what is found, of the searches of all threads.

    Words and activity have the shape (accesses, blocks, threads); a thread that has found its split is idle.
    """
    lefts, block = sides.sum(axis=1, keepdims=True), sides.shape[1]
    ranks = np.argsort(~sides, axis=1, kind="stable")  # of the words of shared memory, in the order of the result
    first = np.arange(0, block, each)
    low = np.maximum(first - (block - lefts), 0)
    high = np.minimum(first, lefts)
    words, active = [], []
    while (low < high).any():
        searching, middle = low < high, (low + high) // 2
        left, right = np.minimum(middle, block - 1), np.clip(lefts + first - 1 - middle, 0, block - 1)
        smaller = np.take_along_axis(ranks, left, 1) < np.take_along_axis(ranks, right, 1)
        words += [left, right]
        active += [searching] * 2
        low, high = np.where(searching & smaller, middle + 1, low), np.where(searching & ~smaller, middle, high)
    return np.array(words), np.array(active), low


def read_addresses(sides: NDArray[np.bool_], each: int) -> Ints:
    """Return the words that threads read after each of their elements, the next of its run, (each, blocks, threads)."""
    lefts, block = sides.sum(axis=1, keepdims=True), sides.shape[1]
    from_left = np.cumsum(sides, axis=1)
    places = np.arange(1, block + 1)
    following = np.where(sides, from_left, lefts + places - from_left)  # the run's next word, once one was taken
    taken = np.minimum(following, block - 1).reshape(len(sides), -1, each)
    return np.moveaxis(taken, 2, 0)


def write_addresses(each: int, group: int) -> Ints:
    """Return the words to which threads write their elements, shape (each, 1, threads)."""
    return (np.arange(each)[:, None] + each * np.arange(group))[:, None]


@cache
def counted_conflicts(each: int, group: int = 128, blocks: int = BLOCKS) -> Conflicts:
    """Return the conflicts of E = `each` elements for each of the `group` threads of a block, on random inputs."""
    sides = random_sides(each, group, blocks)
    words, active, _ = search_addresses(sides, each)
    return Conflicts(
        passes(words, active), passes(read_addresses(sides, each)), passes(write_addresses(each, group))
    )


def passes(words: Ints, active: NDArray[np.bool_] | None = None) -> float:
    """Return the mean passes of a warp's access, over those that any lane makes; idle lanes access nothing."""
    lanes = words.reshape(-1, WARP)
    if active is None:
        return float(serialised(lanes).mean())
    awake = active.reshape(-1, WARP)
    lanes, awake = lanes[awake.any(axis=1)], awake[awake.any(axis=1)]
    some = np.take_along_axis(lanes, awake.argmax(axis=1)[:, None], 1)  # a word that another lane accesses anyway
    return float(serialised(np.where(awake, lanes, some)).mean())
