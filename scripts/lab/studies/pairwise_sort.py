"""The pairwise mergesort of MGPU (Karsin 2018, section 7.1) carried out as a whole: base case and rounds, counted.

Threads sort E elements each in registers, a block of b threads merges these in shared memory, and rounds merge pairs of
runs. In a round each block of the result finds by binary search, in global memory, where its part of either run begins
(merge path), loads the part into shared memory, each thread finds its own, and merges E elements.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import ceil, log2

import numpy as np
from numpy.typing import NDArray

Keys = NDArray[np.float64]


@dataclass
class Work:
    """What a sort does, over all threads."""

    words: int = 0  # words from and to global memory, each coalesced
    # block_steps, thread_steps: steps of binary searches, in global memory for blocks and in shared memory for threads.
    block_steps: int = 0
    thread_steps: int = 0
    shared: int = 0  # words that merges read from shared memory and write there
    swaps: int = 0  # pairs that the sorting networks of single threads compare
    rounds: int = 0  # rounds of merging, after the base case


def sorted_pairwise(keys: Keys, each: int, group: int, work: Work) -> Keys:
    """Sort keys, any number of them."""
    block = each * group
    filled = np.full(ceil(len(keys) / block) * block, np.inf)
    filled[: len(keys)] = keys
    runs = [_base_case(part, each, group, work) for part in filled.reshape(-1, block)]
    while len(runs) > 1:
        work.rounds += 1
        left, right = runs[::2], runs[1::2]
        merged = [_merged(*pair, each, group, work) for pair in zip(left, right, strict=False)]
        runs = [*merged, *left[len(right) :]]
    return runs[0][: len(keys)]


def _base_case(part: Keys, each: int, group: int, work: Work) -> Keys:
    work.words += 2 * len(part)
    work.swaps += group * sum(len(range(phase % 2, each - 1, 2)) for phase in range(each))  # odd-even transposition
    rows = np.sort(part.reshape(group, each), axis=1)
    while len(rows) > 1:
        work.shared += 2 * len(part)
        rows = np.sort(rows.reshape(len(rows) // 2, -1), axis=1)
    return rows.reshape(-1)


def _merged(left: Keys, right: Keys, each: int, group: int, work: Work) -> Keys:
    block, found = each * group, []
    starts = range(0, len(left) + len(right), block)
    splits = [_split(left, right, start) for start in starts]
    ends = [*((at, start - at) for (at, _), start in zip(splits, starts, strict=True)), (len(left), len(right))]
    work.block_steps += sum(steps for _, steps in splits)
    for (from_left, from_right), (to_left, to_right) in pairwise(ends):
        parts = left[from_left:to_left], right[from_right:to_right]
        work.words += 2 * block
        work.thread_steps += sum(_split(*parts, thread * each)[1] for thread in range(group))
        work.shared += 2 * block
        found.append(np.sort(np.concatenate(parts), kind="stable"))
    return np.concatenate(found)


def _split(left: Keys, right: Keys, before: int) -> tuple[int, int]:
    """Return how many of the first elements of the result come from the left run, and the steps that this takes."""
    low, high, steps = max(before - len(right), 0), min(before, len(left)), 0
    while low < high:
        middle, steps = (low + high) // 2, steps + 1
        if left[middle] <= right[before - 1 - middle]:
            low = middle + 1
        else:
            high = middle
    return low, steps


def steps_of_rounds(n: int, block: int) -> int:
    """Return section 7.1.2's steps of a block in all rounds, the sum of i from ceil log bE to ceil log N.

    Examples
    --------
    >>> steps_of_rounds(4096, 512)
    42
    """
    return sum(range(ceil(log2(block)), ceil(log2(n)) + 1))
