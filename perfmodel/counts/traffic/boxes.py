"""The number of cache lines and of cache sets that a few references to one array touch: a :class:`Box`.

The innermost loops touch a *run* of bytes without a gap. Outer loops repeat the run at a *pitch*. References with equal
steps are one box, widened by the distances between their starts::

    start
    |== run ==|        |== run ==|        |== run ==|
    |<---- pitch ----->|

Sets matter because a power-of-two pitch puts all runs into few sets. A cache then holds far fewer lines than its
capacity. A line stays if its set receives at most as many lines as the set has ways (:func:`chance_to_stay`).
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from math import ceil, floor, gcd, prod
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Sweep = tuple[int, float]  #: A loop that moves an address, by the bytes of a step and the number of iterations


class Repeat(NamedTuple):
    """Equal runs, by the distance from one run to the next [B] and the number of runs."""

    pitch: int
    number: float


class Interval(NamedTuple):
    """The start and the length of a run, in bytes, in lines, or in repeats."""

    start: int
    length: float


def lines_of_run(length: float, line: int, grid: int, start: int) -> float:
    """Return the mean number of lines of L bytes that r bytes touch: 1 + floor((s mod a + r - 1)/a) a/L.

    A run starts at s (``start``) plus any multiple of a (``grid``). L is ``line``, a multiple of a.
    """
    return 1.0 + floor((start % grid + length - 1) / grid) * grid / line


class BoxSets(NamedTuple):
    """The sets of a cache that a box touches."""

    reached: float  # sets that its lines fall into
    run: float  # sets that a contiguous run reaches, or the neighbouring runs of a stencil together
    period: int  # bytes: runs at this distance fall into sets that the boxes touch anyway
    pitches: tuple[int, ...]  # bytes between runs, where they don't reach the same sets again


class Box:
    """The bytes and lines that equal boxes touch, whatever the cache."""

    __slots__ = ("_sets", "high", "line", "lines", "low", "repeats", "runs")

    def __init__(
        self, lines: float, low: float, high: float, line: int = 0, runs: tuple[Interval, ...] = (),
        repeats: tuple[Repeat, ...] = (),
    ) -> None:
        self.lines, self.low, self.high, self.line = lines, low, high, line
        self.runs = runs  # neighbouring contiguous runs, in lines; none where data decide
        self.repeats = repeats  # the runs in each direction, all boxes together
        self._sets: dict[int, BoxSets] = {}

    def in_sets(self, sets: int) -> BoxSets:
        box_sets = self._sets.get(sets)
        if box_sets is None:
            box_sets = self._sets[sets] = self._in_sets(sets)
        return box_sets

    def _in_sets(self, sets: int) -> BoxSets:
        if not self.runs:
            return BoxSets(min(self.lines, sets), 1.0, 0, ())
        cycle, runs = sets * self.line, self.runs
        run = runs[0].length
        if len(runs) > 1:
            run = mean_sets([start for start, _ in runs], max(length for _, length in runs), sets)
        reached, period, pitches = run, cycle, []
        for pitch, number in self.repeats:
            reached = sets_reached(pitch, ceil(number), reached, sets, self.line)
            if number * gcd(pitch, cycle) >= cycle:
                period = gcd(period, pitch)
            else:
                pitches.append(pitch)
        return BoxSets(min(reached, sets, self.lines), run, period, tuple(pitches))


class BoxLines(NamedTuple):
    """A box, the number of its lines that count (all or a part), and one of its references."""

    box: Box
    lines: float
    reference: int = 0

    def sets_reached(self, sets: int) -> float:
        return min(self.box.in_sets(sets).reached, max(self.lines, 1.0))

    def lines_per_set(self, sets: int) -> float:
        return self.lines / max(min(self.box.in_sets(sets).reached, self.lines), 1.0)

    def part(self, factor: float) -> "BoxLines":
        return BoxLines(self.box, self.lines * factor, self.reference)


@lru_cache(maxsize=4096)  # tiles are the same at all sizes
def box_of(sweeps: tuple[Sweep, ...], starts: tuple[int, ...], size: int, line: int, grid: int) -> Box:
    """Return the box of references to an array. Both ``starts`` (in bytes) and the steps of ``sweeps`` ascend.

    ``size`` and ``line`` are bytes of an access and of a line. The grid divides all distances between executions.
    """
    run, repeats = _run_and_repeats(sweeps, size, line)
    low, high = starts[0], starts[-1] + run + sum(pitch * (number - 1) for pitch, number in repeats)
    grid = gcd(grid, *(pitch for pitch, _ in repeats))
    lines_each, number_of_runs = lines_of_run(run, line, grid, low), prod(number for _, number in repeats)
    numbers, intervals = _widened(run, repeats, starts, line)
    runs = tuple(
        Interval((low + start) // line, lines_of_run(length, line, grid, low + start)) for start, length in intervals
    )
    lines = min(sum(run.length for run in runs) * prod(numbers), len(starts) * lines_each * number_of_runs)
    widened = tuple(Repeat(repeat.pitch, number) for repeat, number in zip(repeats, numbers, strict=True))
    return Box(lines, low, high, line, runs, widened)


def _run_and_repeats(sweeps: Sequence[Sweep], size: int, line: int) -> tuple[float, list[Repeat]]:
    run: float = size
    repeats: list[Repeat] = []
    for step, extent in sweeps:
        if not repeats and step - run < line:
            run += step * (extent - 1)
        elif repeats and step % repeats[-1].pitch == 0 and step <= repeats[-1].pitch * repeats[-1].number:
            pitch, number = repeats[-1]
            repeats[-1] = Repeat(pitch, number + step // pitch * (extent - 1))
        else:
            repeats.append(Repeat(step, extent))
    return run, repeats


def _widened(
    run: float, repeats: Sequence[Repeat], starts: Sequence[int], line: int
) -> tuple[list[float], list[Interval]]:
    """Return the union of boxes with some starts: the runs in each direction, and the parts of a run [B]."""
    offsets: list[set[int]] = [set() for _ in repeats]  # in repeats of each direction
    rests = set()
    for start in starts:
        rest = start - starts[0]
        for k in range(len(repeats) - 1, -1, -1):
            pitch = repeats[k].pitch
            number = (rest + pitch // 2) // pitch
            offsets[k].add(number)
            rest -= number * pitch
        rests.add(rest)
    unions = (_union(offset, repeat.number, 0) for offset, repeat in zip(offsets, repeats, strict=True))
    return [sum(interval.length for interval in union) for union in unions], _union(rests, run, line)


def _union(starts: set[int], length: float, gap: int) -> list[Interval]:
    """Join equal intervals. Gaps smaller than ``gap`` are filled."""
    parts: list[Interval] = []
    for start in sorted(starts):
        if parts and start - sum(parts[-1]) < max(gap, 1):
            parts[-1] = Interval(parts[-1].start, start + length - parts[-1].start)
        else:
            parts.append(Interval(start, length))
    return parts


@lru_cache(maxsize=65536)
def sets_reached(pitch: int, number: int, run: float, sets: int, line: int) -> float:
    """Return how many sets are touched by equal runs of lines. Neighbouring starts have the distance ``pitch``.

    If some sets receive more runs than others, an equal filling with the same mean square replaces them. The result is
    then the number of its sets, (sum n)^2/sum n^2.
    """
    cycle = sets * line
    distance = gcd(pitch, cycle)  # between neighbouring starts, after all turns around the sets
    number = min(number, cycle // distance)
    if distance >= run * line or number == 1 or run >= sets:
        return min(number * run, sets)
    if number * distance == cycle:
        return sets
    return mean_sets(np.arange(number) * (pitch % cycle) % cycle // line, run, sets)


def mean_sets(first_lines: Sequence[int] | npt.NDArray[np.int64], run: float, sets: int) -> float:
    """Return how many sets are touched by equal runs that start at these lines, as in :func:`sets_reached`."""
    turns, length = divmod(ceil(run), sets)
    starts = np.asarray(first_lines, dtype=np.int64) % sets
    ends = starts + length
    # the circle of sets is cut where runs start and end; the number of lines in a set is constant between two cuts
    borders = np.concatenate([[0], starts, ends % sets])
    order = np.argsort(borders)
    received = np.repeat([int((ends >= sets).sum()) + turns * len(starts), 1, -1], [1, len(starts), len(starts)])
    widths, numbers = np.diff(borders[order], append=sets), np.cumsum(received[order])
    return (len(starts) * ceil(run)) ** 2 / int(widths @ numbers**2)


def chance_to_stay(lines: float, others: Iterable[tuple[float, float]], ways: int) -> float:
    """Return the share of a box's lines whose sets receive no more lines than they have ways.

    ``lines`` is the number of the box's lines in each set that the box touches. ``others`` has two numbers for each
    other box: its lines in a set, and its chance to touch the same set.
    """
    chances = {0: 1.0}  # by the lines in a set, without numbers above the ways
    for added, share in ((lines, 1.0), *others):
        less, none = int(added), 1.0 - share
        parts = [(less, share * (1.0 - added + less)), (less + 1, share * (added - less))]
        result = {number: none * chance for number, chance in chances.items()} if none else {}
        for number, chance in chances.items():
            for more, part in parts:
                if part and number + more <= ways:
                    result[number + more] = result.get(number + more, 0.0) + part * chance
        chances = dict(sorted(result.items()))
    return sum(chances.values())


def overlap(start: float, length: float, other_start: float, width: float, cycle: float) -> float:
    """Return the share of an interval on a circle that another interval covers."""
    distance = (other_start - start) % cycle
    covered = max(0.0, min(length, distance + width) - distance) + max(0.0, min(length, distance + width - cycle))
    return min(covered / length, 1.0)
