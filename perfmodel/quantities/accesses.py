"""The sectors, bank passes and cache lines that accesses of compiled GPU code touch at one size.

The cache model is the layer condition of stencils (Stengel et al. 2015) for affine accesses of concurrent work-groups.
A *wave* is the work-groups that run at the same time. The groups of a wave are in the same loop iterations at about the
same time. An address moves, from fast to slow, with lanes, copies of unrolled loops, groups of the wave, loops from the
innermost on, and waves. A cache fetches the distinct lines of the outermost loop whose body fits into the cache. The
cache fetches these lines once per iteration of the loops outside. Unlike :mod:`perfmodel.counts.traffic`, this module
assumes no order of work-items. The reuse distances of that package were tried here on measurements of two GPUs. They
changed 14 to 40 % of the numbers of lines, and no error fell.
"""

import math
from bisect import insort
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from perfmodel.counts.counters.banks import WORD_BYTES
from perfmodel.counts.lanes import LanePatterns, lane_patterns
from perfmodel.counts.nests.issues import IssuedAccess
from perfmodel.counts.quasipoly.count import Count
from perfmodel.values import grouped


@dataclass(frozen=True, eq=False)
class SizedAccess:
    """An access of compiled code at one size."""

    access: IssuedAccess
    count: float  # executions by sub-groups
    lanes: tuple[int, ...] | None
    moves: tuple[tuple[str, int, float, bool], ...]
    start: int
    active: float  # lanes that execute it together
    sizes: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, access: IssuedAccess, value: Callable[[Count], Any], sizes: Mapping[str, int]) -> "SizedAccess":
        """Return an access at some sizes. The function ``value`` evaluates a count at these sizes."""
        count = value(access.count)
        return cls(
            access, count * float(access.fresh),
            None if access.lanes is None else tuple(int(value(step)) for step in access.lanes),
            tuple((move.name, int(value(move.step)), value(move.values), move.written) for move in access.moves),
            int(value(access.start)), value(access.items) / count if count else 1.0, sizes,
        )  # fmt: skip

    @property
    def size(self) -> int:
        """Bytes of a lane's access."""
        return self.access.bits // 8

    def sectors(self, subgroup: int, sector: int) -> float:
        """Return the mean number of sectors that an execution of the access touches."""
        if self.lanes is None or not self.count:
            return self.active
        if (patterns := self._patterns(subgroup, sector)) is not None:
            return patterns.segments(subgroup, self.size, sector)
        moves = tuple((step, math.ceil(values)) for _, step, values, _ in self.moves if step % sector)
        start = self.start % sector
        touched = segments_touched(self.lanes, self.access.shape, subgroup, self.size, sector, start, moves)
        return min(touched, self.active * (-(-self.size // sector) + 1))

    def passes(self, subgroup: int, banks: int | None) -> float:
        """Return the number of passes that local memory needs for the access. Bank conflicts cause further passes."""
        words = max(self.size / WORD_BYTES, 1.0)
        if banks is None:
            return words
        if self.lanes is None or not self.count:
            return self.active * words
        if (patterns := self._patterns(subgroup, WORD_BYTES)) is not None:
            return patterns.passes(subgroup, self.size, banks)
        return min(bank_passes(self.lanes, self.access.shape, subgroup, self.size, banks), self.active * words)

    def _patterns(self, subgroup: int, period: int) -> LanePatterns | None:
        items = math.prod(self.access.shape)
        filled = self.active == items / -(-items // subgroup)
        if self.access.site is None or (filled and self.access.addressed and not self.access.guarded):
            return None
        return lane_patterns(*self.access.site, self.sizes, period)

    def entering(self, sector: int) -> float:
        """Return the share of executions in which the address of a lane enters another sector."""
        moves = [(step, values) for name, step, values, _ in self.moves if not name.startswith("g.")]
        executed = math.prod(values for _, values in moves) * float(self.access.fresh)
        return min(lines_touched(moves, self.size, sector) / max(executed, 1.0), 1.0)

    @property
    def kept(self) -> float:
        """Words that a work-item loads once and keeps during an unrolled loop. The loop does not move these words."""
        moves = [(step, values) for _, step, values, written in self.moves if written and values > 1]
        again = next((k for k, (step, _) in enumerate(moves) if not step), None)
        if again is None or self.access.direction == "store":
            return 0.0
        return math.prod(values for step, values in moves[again:] if step) * self.size / WORD_BYTES

    def motion(self, waits: bool) -> "AccessMotion | None":
        """Return how the address moves, or None if unknown. If `waits`, copies of an unrolled loop count as a loop."""
        if self.lanes is None or not self.access.addressed:
            return None
        inside: list[tuple[int, float]] = [*zip(self.lanes, self.access.shape, strict=True)]
        groups, loops = {}, []
        for name, step, values, written in self.moves:
            if name.startswith("g."):
                groups[name] = (step, values)
            elif waits or not written:
                loops.append((name, step, values))
            else:
                inside.append((step, values))
        array = f"{self.access.direction} {self.access.array}"
        return AccessMotion(self.size, tuple(inside), groups, tuple(loops), array, self.start)


@lru_cache(maxsize=65536)
def segments_touched(
    steps: tuple[int, ...], shape: tuple[int, ...], subgroup: int, size: int, segment: int, start: int,
    moves: tuple[tuple[int, int], ...] = (),
) -> float:
    """Return the mean number of aligned segments that an access of a sub-group touches, over sub-groups and executions.

    The address moves by ``steps`` [B] along the axes l.0, l.1, ... of a group of ``shape`` work-items. On the first
    lane in the first iteration the address is ``start`` [B]. Each loop or axis has a step [B] and a number of values in
    ``moves``.
    """
    starts = np.zeros(segment)  # how often the first lane has each offset in a segment
    starts[start % segment] = 1
    for step, values in moves:
        turns = np.arange(segment // math.gcd(step, segment))
        moved = starts[(np.arange(segment) - turns[:, None] * step) % segment]
        starts = (values // len(turns) + (turns < values % len(turns))) @ moved
    offsets = np.flatnonzero(starts)
    addresses = offsets[:, None] + _lane_addresses(steps, shape)
    return LanePatterns(addresses, starts[offsets]).segments(subgroup, size, segment)


@lru_cache(maxsize=65536)
def bank_passes(steps: tuple[int, ...], shape: tuple[int, ...], subgroup: int, size: int, banks: int) -> float:
    """Return the largest number of distinct words that an access touches in one bank, as a mean over sub-groups."""
    return LanePatterns(_lane_addresses(steps, shape)[None], np.ones(1)).passes(subgroup, size, banks)


def _lane_addresses(steps: tuple[int, ...], shape: tuple[int, ...]) -> np.ndarray:
    items = np.arange(math.prod(shape))
    addresses = np.zeros_like(items)
    for step, extent in zip(steps, shape, strict=True):
        addresses += step * (items % extent)
        items = items // extent
    return addresses


@dataclass(frozen=True)
class AccessMotion:
    """How the addresses of an access move."""

    size: int  # bytes of a lane's access
    inside: tuple[tuple[int, float], ...]  # step [B] and number of values of lanes and copies
    #: step and values for each digit of a group id, fast to slow; all accesses of a launch have the same names
    groups: Mapping[str, tuple[int, float]]
    loops: tuple[tuple[str, int, float], ...]  # name, step and number of values of the loops around it, outermost first
    array: str = ""  # the direction and the array; accesses with the same one share lines
    start: int = 0  # its first address in the array [B]


def lines_touched(moves: Iterable[tuple[int, float]], size: int, line: int) -> float:
    """Return the distinct lines, at least 1, that an access touches. A move of its address is (step, number of values).

    The function takes the moves in ascending order of their steps. A step lengthens the run of touched bytes if the
    step is at most as long as the run. A step shorter than a line also lengthens the run, until a step has repeated the
    run. Any other step repeats the run.
    """
    return _lines_touched(sorted((abs(step), values) for step, values in moves if step and values > 1), size, line)


def _lines_touched(ascending: Iterable[tuple[int, float]], size: int, line: int) -> float:
    run, runs = float(size), 1.0
    for step, values in ascending:
        if step <= run or (step < line and runs == 1):
            run += step * (values - 1)
        else:
            runs *= values
    return runs * max(run / line, 1.0)


def lines_fetched(
    accesses: Sequence[AccessMotion], grid: Mapping[str, float], concurrent: float, capacity: float, line: int
) -> dict[str, float]:
    """Return the lines that a cache of a capacity [B] fetches for the accesses of a launch, by direction and array.

    ``grid`` has the number of values of each digit of a group id, fast to slow. A wave has ``concurrent`` work-groups.
    """
    wave, left = {}, max(concurrent, 1.0)  # the number of values of each digit in the groups of a wave
    for name, values in grid.items():
        wave[name] = min(values, left)
        left = math.ceil(left / values) if left >= values else 1.0
    alike = grouped(
        ((one.size, one.inside, tuple(one.groups.items()), one.loops, one.array), one) for one in accesses
    ).values()
    leveled = [_levels(shared[0], sorted(access.start for access in shared), grid, wave, line) for shared in alike]
    needed: dict[tuple[str, ...], float] = defaultdict(float)
    for levels in leveled:
        for depth, touched in enumerate(levels.touched[1:], 1):
            needed[levels.names[:depth]] += touched * line
    fetched: dict[tuple[str, float, _Levels | None], float] = {}
    for levels in leveled:
        depth = len(levels.names)
        while depth and needed[levels.names[:depth]] <= capacity:
            depth -= 1
        lines = levels.touched[depth] * math.prod(levels.values[:depth])
        # nests of one wave that touch the same lines of an array fetch them once
        fetched[levels.array, lines, None if depth <= len(grid) else levels] = lines
    total: dict[str, float] = defaultdict(float)
    for (array, *_), lines in fetched.items():
        total[array] += lines
    return total


class _Levels(NamedTuple):
    """The loops around accesses that differ only in their starts. Waves come first, then loops from outside inwards."""

    array: str
    names: tuple[str, ...]  # outermost first
    steps: tuple[int, ...]
    values: tuple[float, ...]
    touched: tuple[float, ...]  # distinct lines of the loops from each depth inwards, and inside all loops


def _levels(
    access: AccessMotion, starts: Sequence[int], grid: Mapping[str, float], wave: Mapping[str, float], line: int
) -> _Levels:
    waves, inside = list[tuple[str, int, float]](), list(access.inside)
    for name, number in grid.items():
        step = access.groups.get(name, (0, 1))[0]
        inside.append((step, wave[name]))
        waves.append((name, step * math.ceil(wave[name]), math.ceil(number / wave[name])))
    loops, span = [*reversed(waves), *access.loops], float(access.size + line)
    touched, moves = list[float](), list[tuple[int, float]]()
    for number, (step, values) in enumerate([*inside, *(loop[1:] for loop in reversed(loops)), (0, 1)]):
        if number >= len(inside):  # inside of this loop
            separate = 1 + sum(later - earlier > span for earlier, later in pairwise(starts))
            touched.insert(0, separate * _lines_touched(moves, access.size, line))
        if step and values > 1:
            insort(moves, (abs(step), values))
        span += abs(step) * (values - 1)
    names, steps, numbers = zip(*loops, strict=True) if loops else ((), (), ())
    return _Levels(access.array, names, steps, numbers, tuple(touched))
