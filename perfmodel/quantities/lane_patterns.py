"""What the lanes of a sub-group touch together: segments of memory, and banks of local memory."""

from __future__ import annotations

from functools import lru_cache
from math import gcd

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
WORD = 4  # bytes of a bank's word


@lru_cache(maxsize=65536)
def segments_touched(
    steps: tuple[int, ...], shape: tuple[int, ...], subgroup: int, size: int, segment: int, start: int,
    moves: tuple[tuple[int, int], ...] = (),
) -> float:
    """Return how many segments of memory one access by a sub-group touches, the mean over sub-groups and executions.

    Parameters
    ----------
    steps : tuple of int
        Bytes by which the address moves along l.0, l.1, ....
    shape : tuple of int
        Work-items of a group along l.0, l.1, ..., of which l.0 is the fastest in a sub-group.
    subgroup : int
        Work-items of a sub-group.
    size : int
        Bytes of one access.
    segment : int
        Bytes of a segment; segments are aligned.
    start : int
        Address of the first lane where all loops and groups are at their first value [B].
    moves : tuple of (int, int)
        Of each loop and group axis the bytes by which it moves the address, and the number of its values.

    Examples
    --------
    Lanes of 4 bytes side by side, from the begin of a segment, and from any word on: 31 places of 32 need two.

    >>> segments_touched((4,), (32,), 32, 4, 128, 0), segments_touched((4,), (32,), 32, 4, 128, 0, ((4, 100),))
    (1.0, 1.96875)

    Two rows of 16 lanes, which are 1000 cells apart, and a column:

    >>> segments_touched((4, 4000), (16, 2), 32, 4, 128, 0), segments_touched((4000,), (32,), 32, 4, 128, 0)
    (2.0, 32.0)
    """
    places = np.array(sorted(_places(start, moves, segment)))
    first = _addresses(steps, shape, subgroup)[:, None, :] + places[None, :, None]
    both = np.concatenate([first // segment, (first + size - 1) // segment], axis=-1)
    both.sort(axis=-1)
    distinct = 1 + (np.diff(both, axis=-1) != 0).sum(axis=-1)
    return float(distinct.mean())


@lru_cache(maxsize=65536)
def bank_passes(steps: tuple[int, ...], shape: tuple[int, ...], subgroup: int, size: int, banks: int) -> float:
    """Return how often one access to local memory is repeated, the mean over sub-groups.

    It is the most distinct words of 4 bytes that its lanes touch in one bank; a word that several lanes read is one.
    For the other parameters see :func:`segments_touched`.

    Examples
    --------
    >>> [bank_passes((4 * stride,), (32,), 32, 4, 32) for stride in (0, 1, 2, 32, 33)]
    [1.0, 1.0, 2.0, 32.0, 1.0]
    """
    words = _addresses(steps, shape, subgroup)[:, :, None] // WORD + np.arange(max(size // WORD, 1))
    touched = (np.unique(one) for one in words)
    return float(np.mean([np.bincount(one % banks).max() for one in touched]))


def _places(start: int, moves: tuple[tuple[int, int], ...], segment: int) -> set[int]:
    """Return the places in a segment from which the first lane begins."""
    found = {start % segment}
    for step, values in moves:
        turns = min(values, segment // gcd(step, segment))
        found = {(place + turn * step) % segment for place in found for turn in range(turns)}
    return found


def _addresses(steps: tuple[int, ...], shape: tuple[int, ...], subgroup: int) -> Ints:
    """Return the addresses of the lanes of each sub-group, whose free places repeat a lane; shape (n, subgroup)."""
    number = int(np.prod(shape))
    items = np.arange(-(-number // subgroup) * subgroup).reshape(-1, subgroup)
    items = np.minimum(items, number - 1)
    address = np.zeros(items.shape, dtype=np.int64)
    for step, extent in zip(steps, shape, strict=True):
        address += step * (items % extent)
        items = items // extent
    return address
