"""Lines that a cache fetches for accesses, where work-groups run side by side: the layer condition.

Work-groups are dealt in waves. The accesses of a wave stand at the same iterations of their loops at about the same
time. An address then moves, from fast to slow, with lanes, with copies of written-out loops and with the wave's groups;
with the loops, from the innermost on; and from wave to wave. A cache holds what the moves inside of some loop touch, or
it does not: it fetches the distinct lines of the outermost loop whose insides fit, all accesses together, once for each
iteration outside of it. This is the layer condition of stencils (Stengel et al. 2015) for all affine accesses.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise


@dataclass(frozen=True)
class AddressWalk:
    """How the addresses of an access move: numbers of one kernel at one size.

    Attributes
    ----------
    size : int
        Bytes of a lane's access.
    inside : tuple of (int, float)
        Bytes of each step of lanes and copies, and their numbers of values.
    groups : mapping of str to (int, float)
        The same of each digit of a work-group's number, fast to slow; each launch has the same names.
    loops : tuple of (str, int, float)
        The same of the loops around it, outermost first, with their names.
    array : str
        The array and the direction of the access: accesses to the same one share lines.
    start : int
        Where it begins in the array [B].
    """

    size: int
    inside: tuple[tuple[int, float], ...]
    groups: Mapping[str, tuple[int, float]]
    loops: tuple[tuple[str, int, float], ...]
    array: str = ""
    start: int = 0


def lines_touched(moves: Sequence[tuple[int, float]], size: int, line: int) -> float:
    r"""Return the distinct lines that an access touches whose address makes some moves, at least 1.

    From the smallest step on, moves whose step is no larger than what is touched so far, or than a line, lengthen one
    run of bytes; larger ones repeat the run.

    Examples
    --------
    32 lanes of 4 bytes side by side; 16 rows of them, 1024 bytes apart; a column:

    >>> lines_touched([(4, 32)], 4, 32), lines_touched([(4, 32), (1024, 16)], 4, 32), lines_touched([(1024, 32)], 4, 32)
    (4.0, 64.0, 32.0)
    """
    run, runs = float(size), 1.0
    for step, values in sorted((abs(step), values) for step, values in moves if step and values > 1):
        if step <= run or (step < line and runs == 1):
            run += step * (values - 1)
        else:
            runs *= values
    return runs * max(run / line, 1.0)


def lines_fetched(
    paths: Sequence[AddressWalk], grid: Mapping[str, float], concurrent: float, capacity: float, line: int
) -> dict[str, float]:
    """Return the lines that a cache of some bytes fetches for the accesses of a launch, by array and direction.

    Parameters
    ----------
    paths
        How the accesses' addresses move.
    grid
        How many values each digit of a work-group's number has, fast to slow.
    concurrent
        Work-groups of a wave, which share the cache.
    capacity, line
        Bytes of the cache and of a line.
    """
    together = _wave(grid, concurrent)
    alike: dict[tuple[object, ...], list[AddressWalk]] = defaultdict(list)
    for path in paths:
        alike[path.size, path.inside, tuple(path.groups.items()), path.loops, path.array].append(path)
    walks = [_LeveledWalk.of(shared[0], sorted(path.start for path in shared), grid, together, line)
             for shared in alike.values()]
    needed: dict[tuple[str, ...], float] = defaultdict(float)
    for walk in walks:
        for depth in range(len(walk.levels)):
            needed[walk.names[:depth + 1]] += walk.touched[depth + 1] * line
    fetched: dict[tuple[object, ...], float] = {}
    for walk in walks:
        depth = len(walk.levels)
        while depth and needed[walk.names[:depth]] <= capacity:
            depth -= 1
        lines = walk.touched[depth] * math.prod(values for _, values in walk.levels[:depth])
        # nests of one wave that touch the same lines of an array fetch them once
        key = (walk.array, lines) if depth <= len(grid) else (walk.array, lines, walk)
        fetched[key] = lines
    total: dict[str, float] = defaultdict(float)
    for (array, *_), lines in fetched.items():
        total[str(array)] += lines
    return total


def _wave(grid: Mapping[str, float], concurrent: float) -> dict[str, float]:
    """Return how many values of each digit the groups of a wave have."""
    together, left = {}, max(concurrent, 1.0)
    for name, values in grid.items():
        together[name] = min(values, left)
        left = math.ceil(left / values) if left >= values else 1.0
    return together


@dataclass(frozen=True)
class _LeveledWalk:
    """The moves of accesses to an array that differ in where they begin, by what the moves stand inside of."""

    array: str
    names: tuple[str, ...]  # of the levels, outermost first
    levels: tuple[tuple[int, float], ...]
    touched: tuple[float, ...]  # distinct lines of the levels from each depth on, and of what is inside of all

    @classmethod
    def of(
        cls, path: AddressWalk, starts: Sequence[int], grid: Mapping[str, float], together: Mapping[str, float],
        line: int,
    ) -> _LeveledWalk:
        waves, inside = [], list(path.inside)
        for name, values in grid.items():
            step = path.groups.get(name, (0, 1))[0]
            inside.append((step, together[name]))
            waves.append((name, step * math.ceil(together[name]), math.ceil(values / together[name])))
        named = [*reversed(waves), *path.loops]
        levels = [(step, values) for _, step, values in named]
        touched = []
        for depth in range(len(levels) + 1):
            moves = [*inside, *levels[depth:]]
            span = path.size + line + sum(abs(step) * (values - 1) for step, values in moves)
            apart = 1 + sum(later - earlier > span for earlier, later in pairwise(starts))
            touched.append(apart * lines_touched(moves, path.size, line))
        return cls(path.array, tuple(name for name, _, _ in named), tuple(levels), tuple(touched))
