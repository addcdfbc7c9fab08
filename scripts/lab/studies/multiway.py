r"""The multiway mergesorts of Karsin (2018), sections 7.2 and 7.3, carried out: what a warp moves, counted.

A warp of w lanes merges K runs by a heap of K leaves, each of which holds the next w elements of its run. Every node
holds w elements in order, all of them smaller than those of its children, so that the root holds the w smallest ones
(MINBLOCKHEAP, 7.3.1). Blocks of :math:`w^2` elements are sorted before by a shearsort.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, log2

import numpy as np
from numpy.typing import NDArray

Keys = NDArray[np.float64]


@dataclass
class Moved:
    """Words that a sort moves, and pairs that it compares."""

    # loaded, stored: from and to global memory.
    loaded: int = 0
    stored: int = 0
    shared: int = 0  # read from and written to shared memory
    compared: int = 0  # pairs of elements that sorting and merging networks in registers compare


def sorted_by_heaps(keys: Keys, ways: int, warp: int, moved: Moved) -> Keys:
    """Sort keys as GPU-MMS does: blocks of warp^2 by shearsort, then `ways` runs at a time by a heap; any number."""
    runs = [sheared(block, warp, moved) for block in _blocks(keys, warp)]
    while len(runs) > 1:
        runs = [merged_runs(runs[k : k + ways], warp, moved) for k in range(0, len(runs), ways)]
    return runs[0][: len(keys)]


def _blocks(keys: Keys, warp: int) -> NDArray[np.float64]:
    """Return keys in blocks of warp^2, the last one filled with infinity."""
    filled = np.full(ceil(len(keys) / warp**2) * warp**2, np.inf)
    filled[: len(keys)] = keys
    return filled.reshape(-1, warp, warp)


def sheared(block: NDArray[np.float64], warp: int, moved: Moved) -> Keys:
    """Return the elements of a square in order: rows by turns up and down, columns, log w times; then rows once more.

    In each phase a lane reads a row or a column from shared memory, sorts it in its registers by a bitonic network,
    and writes it back.
    """
    moved.loaded += block.size
    for _ in range(ceil(log2(warp))):
        block = np.sort(block, axis=1)
        block[1::2] = block[1::2, ::-1]
        block = np.sort(block, axis=0)
        for _ in range(2):
            _phase(warp, moved)
    _phase(warp, moved)
    moved.stored += block.size
    return np.sort(block, axis=1).reshape(-1)


def _phase(warp: int, moved: Moved) -> None:
    steps = ceil(log2(warp))
    moved.shared += 2 * warp**2
    moved.compared += warp * (warp // 2) * steps * (steps + 1) // 2  # of the bitonic sorting network, in each lane


def merged_runs(runs: list[Keys], warp: int, moved: Moved) -> Keys:
    """Merge runs of whole warps of elements, as many as a power of two or fewer."""
    heap = _Heap(runs, warp, moved)
    whole = sum(map(len, runs))
    return np.concatenate([heap.take() for _ in range(whole // warp)])


class _Heap:
    """The heap of blocks: node k has the children 2 k + 1 and 2 k + 2, and the leaves are the runs."""

    def __init__(self, runs: list[Keys], warp: int, moved: Moved) -> None:
        self.warp, self.moved = warp, moved
        self.leaves = 1 << max(len(runs) - 1, 0).bit_length()
        self.rest = [*runs, *[np.empty(0)] * (self.leaves - len(runs))]
        self.nodes: list[Keys] = [np.empty(0)] * (2 * self.leaves - 1)
        for node in reversed(range(2 * self.leaves - 1)):
            self.fill(node)

    def take(self) -> Keys:
        """Return the smallest elements, and fill the root again."""
        smallest = self.nodes[0]
        self.moved.stored += self.warp
        self.fill(0)
        return smallest

    def fill(self, node: int) -> None:
        """Fill an empty node with the smaller half of its children's elements; the child with the smaller end is next.

        The other child keeps the larger half, of which the largest element stays the same.
        """
        if node >= self.leaves - 1:
            self.nodes[node] = self._next(node - self.leaves + 1)
            return
        left, right = 2 * node + 1, 2 * node + 2
        kept, emptied = (left, right) if self.nodes[left][-1] > self.nodes[right][-1] else (right, left)
        both = np.sort(np.concatenate([self.nodes[left], self.nodes[right]]))
        self.moved.shared += 4 * self.warp
        self.moved.compared += self.warp * (self.warp.bit_length())  # w at each of log 2w steps of a bitonic merge
        self.nodes[node], self.nodes[kept] = both[: self.warp], both[self.warp :]
        self.fill(emptied)

    def _next(self, leaf: int) -> Keys:
        block, self.rest[leaf] = self.rest[leaf][: self.warp], self.rest[leaf][self.warp :]
        self.moved.loaded += len(block)
        return block if len(block) else np.full(self.warp, np.inf)
