"""How many lines a few references to one array touch, in numbers.

A reference is a box: a start, and a step and an extent for each loop. Boxes of equal steps are one box, widened by the
distances between their starts.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import ceil, floor, gcd, prod
from typing import NamedTuple

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


class Patch(NamedTuple):
    """What equal boxes touch.

    Attributes
    ----------
    lines : float
        Lines.
    reached : float
        Sets of the cache that these fall into.
    low, high : float
        The bytes where they begin and end.
    run : float
        Sets that a contiguous run reaches, or the neighbouring runs of a stencil together.
    period : int
        Bytes: runs this far apart fall into sets that the boxes reach anyway.
    pitches : tuple of int
        Bytes between runs, where they don't reach the same sets again.
    """

    lines: float
    reached: float
    low: float
    high: float
    run: float
    period: int
    pitches: tuple[int, ...]

    @property
    def load(self) -> float:
        """Lines in each set that is reached."""
        return self.lines / max(self.reached, 1.0)

    def part(self, factor: float) -> Patch:
        """Return a part of the lines."""
        lines = self.lines * factor
        reached = min(self.reached, max(lines, 1.0))
        return Patch(lines, reached, self.low, self.high, self.run, self.period, self.pitches)


def patch_of(dims: Dims, starts: Sequence[int], size: int, line: int, grid: int, sets: int) -> Patch:
    """Return what equal boxes touch.

    Parameters
    ----------
    dims : tuple of (int, float)
        The box.
    starts : sequence of int
        Where the boxes begin, rising, in bytes from the array's first cell.
    size : int
        Bytes of one access.
    line, sets : int
        Bytes of a line, and sets of the cache (0 for one that has only one).
    grid : int
        What divides the distances between the places in which the box lies.
    """
    run, lattice = _lattice(dims, size, line)
    low, high = starts[0], starts[-1] + run + sum(pitch * (number - 1) for pitch, number in lattice)
    numbers, parts = _widened(run, lattice, starts, line)
    for pitch, _ in lattice:
        grid = gcd(grid, pitch)
    of_parts = [lines_of_run(length, line, grid, low + begin) for begin, length in parts]
    most = len(starts) * lines_of_run(run, line, grid, low) * prod(number for _, number in lattice)
    lines = min(sum(of_parts) * prod(numbers), most)
    if not sets:
        return Patch(lines, 0.0, low, high, 0.0, 0, ())
    places = tuple((low + begin) // line for begin, _ in parts)
    run_sets = of_parts[0] if len(parts) == 1 else mean_sets(places, max(of_parts), sets)
    reached, period, pitches = run_sets, sets * line, []
    for (pitch, _), number in zip(lattice, numbers, strict=True):
        reached = sets_reached(pitch, ceil(number), reached, sets, line)
        if number * gcd(pitch, sets * line) >= sets * line:
            period = gcd(period, pitch)
        else:
            pitches.append(pitch)
    return Patch(lines, min(reached, sets, lines), low, high, run_sets, period, tuple(pitches))


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
    return mean_sets(tuple(k * pitch % cycle // line for k in range(number)), run, sets)


@lru_cache(maxsize=65536)
def mean_sets(places: tuple[int, ...], run: float, sets: int) -> float:
    """Return how many sets runs of lines from some places on reach, as in :func:`sets_reached`."""
    numbers = [0] * sets
    for place in places:
        for line in range(place, place + ceil(run)):
            numbers[line % sets] += 1
    return sum(numbers) ** 2 / sum(number * number for number in numbers)


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
    """Return of all boxes together the numbers of runs, and the parts of a run: where they begin, and their bytes."""
    if len(starts) == 1:
        return [number for _, number in lattice], [(0, run)]
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
