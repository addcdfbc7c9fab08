"""How many lines a few references to one array touch, in numbers.

A reference is a box: a start, and a step and an extent for each loop. Boxes of equal steps are one box, widened by the
distances between their starts.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import ceil, floor, gcd, prod
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Dims = tuple[tuple[int, float], ...]  # (step in bytes, extent) of each loop that moves the address, the steps rising


def lines_of_run(length: float, line: int, grid: int, start: int) -> float:
    """Return the mean number of lines that contiguous bytes touch, from any start on a grid of bytes.

    The starts are ``start mod grid + k*grid``, where the grid divides the line: 1 + floor((s + r - 1)/a) a/L.

    Examples
    --------
    >>> lines_of_run(256, 64, 64, 0), lines_of_run(256, 64, 4, 0), lines_of_run(64, 64, 64, 32)
    (4.0, 4.9375, 2.0)
    """
    return 1.0 + floor((start % grid + length - 1) / grid) * grid / line


class Place(NamedTuple):
    """Where a box lies in the sets of a cache.

    Attributes
    ----------
    reached : float
        Sets that its lines fall into.
    run : float
        Sets that a contiguous run reaches, or the neighbouring runs of a stencil together.
    period : int
        Bytes: runs this far apart fall into sets that the boxes reach anyway.
    pitches : tuple of int
        Bytes between runs, where they don't reach the same sets again.
    """

    reached: float
    run: float
    period: int
    pitches: tuple[int, ...]


class Box:
    """What equal boxes touch, whatever the cache.

    Attributes
    ----------
    lines : float
        Lines.
    low, high : float
        The bytes where they begin and end.
    line : int
        Bytes of a line.
    parts : tuple of (int, float)
        Of neighbouring contiguous runs, where each begins, in lines, and its lines; empty where data decide.
    lattice : tuple of (int, float)
        The pitch and the number of the runs in each direction, all boxes together.
    """

    __slots__ = ("_places", "high", "lattice", "line", "lines", "low", "parts")

    def __init__(
        self, lines: float, low: float, high: float, line: int = 0, parts: tuple[tuple[int, float], ...] = (),
        lattice: tuple[tuple[int, float], ...] = (),
    ) -> None:
        self.lines, self.low, self.high, self.line, self.parts, self.lattice = lines, low, high, line, parts, lattice
        self._places: dict[int, Place] = {}

    def place(self, sets: int) -> Place:
        """Return where the box lies in a cache with so many sets."""
        found = self._places.get(sets)
        if found is None:
            found = self._places[sets] = self._placed(sets)
        return found

    def _placed(self, sets: int) -> Place:
        if not self.parts:
            return Place(min(self.lines, sets), 1.0, 0, ())
        cycle, parts = sets * self.line, self.parts
        run = parts[0][1]
        if len(parts) > 1:
            run = mean_sets(tuple(begin for begin, _ in parts), max(lines for _, lines in parts), sets)
        reached, period, pitches = run, cycle, []
        for pitch, number in self.lattice:
            reached = sets_reached(pitch, ceil(number), reached, sets, self.line)
            if number * gcd(pitch, cycle) >= cycle:
                period = gcd(period, pitch)
            else:
                pitches.append(pitch)
        return Place(min(reached, sets, self.lines), run, period, tuple(pitches))


class Patch(NamedTuple):
    """A box, of which only some lines may count."""

    box: Box
    lines: float

    def reached(self, sets: int) -> float:
        """Return the sets of a cache that the lines fall into."""
        return min(self.box.place(sets).reached, max(self.lines, 1.0))

    def load(self, sets: int) -> float:
        """Return the lines in each set that is reached."""
        return self.lines / max(min(self.box.place(sets).reached, self.lines), 1.0)

    def part(self, factor: float) -> Patch:
        """Return a part of the lines."""
        return Patch(self.box, self.lines * factor)


@lru_cache(maxsize=4096)  # tiles are the same at all sizes
def box_of(dims: Dims, starts: tuple[int, ...], size: int, line: int, grid: int) -> Box:
    """Return what equal boxes touch.

    Parameters
    ----------
    dims : tuple of (int, float)
        The box.
    starts : tuple of int
        Where the boxes begin, rising, in bytes from the array's first cell.
    size : int
        Bytes of one access.
    line : int
        Bytes of a line.
    grid : int
        What divides the distances between the places in which the box lies.
    """
    run, lattice = _lattice(dims, size, line)
    low, high = starts[0], starts[-1] + run + sum(pitch * (number - 1) for pitch, number in lattice)
    grid = gcd(grid, *(pitch for pitch, _ in lattice))
    one, runs = lines_of_run(run, line, grid, low), prod(number for _, number in lattice)
    if len(starts) == 1:
        return Box(one * runs, low, high, line, ((low // line, one),), tuple(lattice))
    numbers, intervals = _widened(run, lattice, starts, line)
    parts = tuple(((low + begin) // line, lines_of_run(length, line, grid, low + begin)) for begin, length in intervals)
    lines = min(sum(own for _, own in parts) * prod(numbers), len(starts) * one * runs)
    pitches = (pitch for pitch, _ in lattice)
    return Box(lines, low, high, line, parts, tuple(zip(pitches, numbers, strict=True)))


@lru_cache(maxsize=65536)
def sets_reached(pitch: int, number: int, run: float, sets: int, line: int) -> float:
    """Return how many sets equal runs of lines fall into that begin a pitch apart.

    Where some sets receive more runs than others it is the number that as many sets with equal numbers would have,
    (sum n)^2/sum n^2.

    Examples
    --------
    A cache of 64 sets: rows of 4096 bytes begin in one set, of 4160 bytes in 16; those of 1032 bytes drift,
    two into each of 8.

    >>> [round(sets_reached(pitch, 16, 1.0, 64, 64), 1) for pitch in (4096, 4160, 1032)]
    [1.0, 16.0, 8.0]
    """
    cycle = sets * line
    apart = gcd(pitch, cycle)
    number = min(number, cycle // apart)
    if apart >= run * line or number == 1 or run >= sets:
        return min(number * run, sets)
    if number * apart == cycle:
        return sets
    return mean_sets(np.arange(number) * (pitch % cycle) % cycle // line, run, sets)


def mean_sets(places: Sequence[int] | npt.NDArray[np.int64], run: float, sets: int) -> float:
    """Return how many sets runs of lines from some places on reach, as in :func:`sets_reached`."""
    lines = (np.asarray(places)[:, None] + np.arange(ceil(run))) % sets
    numbers = np.bincount(lines.ravel())
    return lines.size**2 / int(numbers @ numbers)


def _lattice(dims: Dims, size: int, line: int) -> tuple[float, list[tuple[int, float]]]:
    """Return the bytes of a contiguous run, and the pitch and number of the runs in each direction."""
    run: float = size
    lattice: list[tuple[int, float]] = []
    for step, extent in dims:
        if not lattice and step - run < line:
            run += step * (extent - 1)
        elif lattice and step % lattice[-1][0] == 0 and step <= lattice[-1][0] * lattice[-1][1]:
            pitch, number = lattice[-1]
            lattice[-1] = pitch, number + step // pitch * (extent - 1)
        else:
            lattice.append((step, extent))
    return run, lattice


def _widened(
    run: float, lattice: Sequence[tuple[int, float]], starts: Sequence[int], line: int
) -> tuple[list[float], list[tuple[int, float]]]:
    """Return of several boxes together the numbers of runs, and the parts of a run: where they begin, and bytes."""
    places: list[set[int]] = [set() for _ in lattice]
    rests = set()
    for start in starts:
        rest = start - starts[0]
        for k in range(len(lattice) - 1, -1, -1):
            pitch = lattice[k][0]
            number = (rest + pitch // 2) // pitch
            places[k].add(number)
            rest -= number * pitch
        rests.add(rest)
    unions = (_union(place, number, 0) for place, (_, number) in zip(places, lattice, strict=True))
    return [sum(length for _, length in union) for union in unions], _union(rests, run, line)


def _union(starts: set[int], length: float, gap: int) -> list[tuple[int, float]]:
    """Return where equal intervals together begin, and their lengths; gaps that are smaller than one are filled."""
    parts: list[tuple[int, float]] = []
    for start in sorted(starts):
        if parts and start - sum(parts[-1]) < max(gap, 1):
            parts[-1] = parts[-1][0], start + length - parts[-1][0]
        else:
            parts.append((start, length))
    return parts
