"""A set-associative cache that replaces the line least recently used (LRU)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from perfmodel.errors import CacheShapeError

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
EMPTY = -1


@dataclass(frozen=True)
class CacheShape:
    """A cache: its size and line in bytes, and its ways (the lines of a set).

    Lines that do not fill a whole set are left out.

    Raises
    ------
    CacheShapeError
        If one of the three is not positive, or the cache is smaller than one set.

    Examples
    --------
    >>> CacheShape(16384, 128, 4).sets
    32
    """

    size_bytes: int
    line_bytes: int
    ways: int

    def __post_init__(self) -> None:
        if min(self.size_bytes, self.line_bytes, self.ways) <= 0 or self.sets < 1:
            raise CacheShapeError(self.size_bytes, self.line_bytes, self.ways)

    @property
    def sets(self) -> int:
        """Number of sets; a line's number modulo it is the line's set."""
        return self.size_bytes // (self.line_bytes * self.ways)


def hits(line: Ints, shape: CacheShape, cache: Ints | None = None) -> Bools:
    """Return which requests find their line in the cache; every request loads its line.

    `line` are the numbers of the lines, none negative, in the order of the requests; `cache` is for each request the
    number of its cache, where there are several equal caches. Caches are empty at first.

    Examples
    --------
    >>> hits(np.array([0, 1, 0, 2, 1]), CacheShape(128, 64, 2)).tolist()
    [False, False, True, False, False]
    """
    bank = line % shape.sets + (0 if cache is None else cache * shape.sets)
    order = np.argsort(bank, kind="stable")
    bank, tag = bank[order], line[order]
    again = np.zeros(len(line), dtype=bool)  # the set's last request was for the same line
    again[1:] = (bank[1:] == bank[:-1]) & (tag[1:] == tag[:-1])
    found = again.copy()
    found[~again] = _first_hits(bank[~again], tag[~again], shape.ways)
    result: Bools = np.empty(len(found), dtype=np.bool_)
    result[order] = found
    return result


def _first_hits(bank: Ints, tag: Ints, ways: int) -> Bools:
    """Return the hits of requests sorted by bank; all banks are simulated together, request by request."""
    found = np.zeros(len(tag), dtype=bool)
    if not len(tag):
        return found
    starts = np.flatnonzero(np.diff(bank, prepend=bank[0] - 1))
    lengths = np.diff(np.append(starts, len(bank)))
    longest = np.argsort(-lengths, kind="stable")
    starts, lengths = starts[longest], lengths[longest]
    held = np.full((len(starts), ways), EMPTY, dtype=np.int64)  # the lines of each bank, the last used first
    place = np.arange(1, ways)
    active = np.searchsorted(-lengths, -np.arange(lengths[0]), side="left")
    for turn, banks in enumerate(active):
        at = starts[:banks] + turn
        here, wanted = held[:banks], tag[at]
        same = here == wanted[:, None]
        hit = same.any(axis=1)
        found[at] = hit
        last = np.where(hit, same.argmax(axis=1), ways - 1)
        here[:, 1:] = np.where(place <= last[:, None], here[:, :-1], here[:, 1:])
        here[:, 0] = wanted
    return found
