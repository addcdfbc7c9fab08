"""Capacities, lines and ways of caches, from pointer chases of one work-item.

Each load of a chase gives the address of the next one, so that its time is the latency of a load. The chase visits
all lines of a footprint in a random cycle. While the footprint fits into a cache, that cache answers; the curve over
the footprint has a step at each capacity. It is the capacity that one work-item sees: on a machine that others share,
that may be less than the cache has.

The steps of a curve that rises from plateau to plateau are found so, with x the logarithm of the footprint and y that
of the time, both to the base 2:

1. Each point is replaced by the median of itself and its neighbours, so that a single disturbed point does not count.
   Then the curve is made monotone: adjacent points that fall are pooled to their median (isotonic regression in the
   absolute error).
2. The *slope* at x is the rise from x - 1/4 to x + 1/4. Its peaks of at least :data:`STEEP` are steps, if the slope
   falls below half of the lower one between each two. Between two steps, the place with the least slope is the plateau.
3. The capacity is the largest measured footprint up to which the curve has risen no more than half of the way, in y,
   from the plateau before the step to the plateau after it. A step that rises by less than :data:`LEAST` altogether is
   none.

On curves that were made up (one to four plateaus, steps about half an octave wide, noise of 5 %, one point in 25 slower
by up to 6) the rule finds the number of steps, and each within one measured footprint, in 94 of 100 cases or more, if
each plateau is an octave wide. It misses a plateau of half an octave.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import log2, sqrt

import numpy as np
from numpy.typing import NDArray

from perfmodel.facts.fact import Fact
from perfmodel.facts.probed.run import ProbeRun, newest, times

CHASE, CONFLICTS, LINE = "chase", "conflicts", "line"
LEVELS = ("l1", "l2", "l3")
#: Times that differ by less than this factor are taken for equal.
CLEAR = 1.2
#: Least rise of a step, as a logarithm to the base 2: a third.
LEAST = 0.4
#: Least rise over half an octave, on the same scale.
STEEP = 0.25
#: Places for each factor of two at which the slope is looked at.
_GRID = 16

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class CurveStep:
    """One step of a curve.

    Parameters
    ----------
    last, first
        The last measured place before the middle of the step, and the first after it.
    before, after
        Heights of the plateaus on both sides.
    """

    last: float
    first: float
    before: float
    after: float


def capacities(runs: Iterable[ProbeRun]) -> tuple[CurveStep, ...]:
    """Return the steps of the time of a load over the footprint, in bytes and seconds."""
    curve = times(newest(runs, CHASE), "bytes")
    return steps([float(key[0]) for key in curve], list(curve.values()))


def cache_facts(runs: Iterable[ProbeRun]) -> dict[str, Fact]:
    """Return the capacities and load times of up to three levels, and of what lies behind them.

    ``l1_bytes`` to ``l3_bytes`` [B] are the first to the third step, ``l1_load_s`` to ``l3_load_s`` and
    ``memory_load_s`` [s] the plateaus between them. Without any step there is no fact.
    """
    runs = tuple(runs)
    found: dict[str, Fact] = {}
    level = capacities(runs)
    for name, step in zip(LEVELS, level, strict=False):
        between = f"the time of a load steps up between {bytes_text(step.last)} and {bytes_text(step.first)}"
        found[f"{name}_bytes"] = Fact(int(step.last), "B", f"measured, pointer chase: {between}")
        below = f"measured, pointer chase: plateau below {bytes_text(step.last)}"
        found[f"{name}_load_s"] = Fact(step.before, "s", below)
    if level:
        beyond = bytes_text(level[-1].first)
        found["memory_load_s"] = Fact(level[-1].after, "s", f"measured, pointer chase: plateau above {beyond}")
        found.update(_line(runs))
        found.update(_ways(runs, level))
    return found


def _line(runs: tuple[ProbeRun, ...]) -> dict[str, Fact]:
    r"""Return the first-level cache's line from pairs of loads that are some bytes apart.

    The first load of a pair misses; the second hits if it is in the same line. The line is the least distance at
    which a pair takes more than half of the way, :math:`\sqrt{t_{near} t_{far}}`, from the nearest to the farthest one.
    """
    pairs = times(newest(runs, LINE), "apart")
    if len(pairs) < 3:
        return {}
    apart, seconds = [int(key[0]) for key in pairs], list(pairs.values())
    near, far = seconds[0], max(seconds)
    line = next((a for a, s in zip(apart, seconds, strict=True) if s > sqrt(near * far)), 0)
    if far < CLEAR * near or not line:
        return {}
    source = f"measured, pairs of loads: the second is free up to {line // 2} B from the first, not at {line} B"
    return {"l1_line_bytes": Fact(line, "B", source)}


def _ways(runs: tuple[ProbeRun, ...], level: tuple[CurveStep, ...]) -> dict[str, Fact]:
    """Return the ways of the first two caches, from chases over lines a power of two apart.

    Lines that far apart share a set. The ways are the most lines before the time of a load has risen half of the way
    to the next level's, at the stride where these are fewest. They count only if at least two strides agree, and if
    capacity / (ways x line) is a power of two as far as the capacity is known.
    """
    found: dict[str, Fact] = {}
    line = next((int(fact.value) for fact in _line(runs).values() if isinstance(fact.value, int)), 64)
    for name, step in zip(LEVELS[:2], level, strict=False):
        fewest = _fewest_lines(runs, sqrt(step.before * step.after))
        ways = min(fewest.values(), default=0)
        strides = [stride for stride, lines in fewest.items() if lines == ways]
        if ways and len(strides) > 1 and _power_of_two(step.last / (ways * line), step.first / step.last):
            kept = f"up to {ways} lines at strides from {bytes_text(min(strides))} stay in the cache"
            found[f"{name}_ways"] = Fact(ways, "", f"measured, lines in one set: {kept}")
    return found


def _fewest_lines(runs: tuple[ProbeRun, ...], bound_s: float) -> Mapping[int, int]:
    """Return for each stride [B] the most lines whose loads stay below a time; strides that stay below are left out."""
    curve = times(newest(runs, CONFLICTS), "stride", "lines")
    found = {}
    for stride in sorted({int(key[0]) for key in curve}):
        lines = [(int(key[1]), seconds) for key, seconds in curve.items() if key[0] == stride]
        above = [count for count, seconds in lines if seconds > bound_s]
        below = [count for count, _ in lines if above and count < min(above)]
        if above and below and np.median([s for n, s in lines if n >= min(above)]) > bound_s:
            found[stride] = max(below)
    return found


def _power_of_two(sets: float, tolerance: float) -> bool:
    """Return whether a number is a power of two, within a factor."""
    return sets >= 1 and abs(log2(sets) - round(log2(sets))) <= log2(tolerance)


def bytes_text(octets: float) -> str:
    """Write a number of bytes.

    >>> bytes_text(49152), bytes_text(2**21), bytes_text(64)
    ('48 KiB', '2 MiB', '64 B')
    """
    for unit, name in ((2**20, "MiB"), (2**10, "KiB")):
        if octets >= unit:
            return f"{octets / unit:.4g} {name}"
    return f"{octets:.4g} B"


def steps(places: Sequence[float], heights: Sequence[float]) -> tuple[CurveStep, ...]:
    """Return the steps of a curve, from the left; places must rise, and all numbers be positive.

    Examples
    --------
    >>> found = steps([1, 2, 4, 8, 16, 32, 64], [1, 1, 1, 4, 4, 4, 4])
    >>> [(step.last, step.first, step.before, step.after) for step in found]
    [(4, 8, 1.0, 4.0)]
    """
    if len(places) < 3:
        return ()
    x, y = np.log2(np.asarray(places, np.float64)), monotone(smooth(np.log2(np.asarray(heights, np.float64))))
    grid = np.linspace(x[0], x[-1], max(3, round((x[-1] - x[0]) * _GRID) + 1))
    slope = np.interp(grid + 0.25, x, y) - np.interp(grid - 0.25, x, y)
    peaks = _peaks(slope)
    if not peaks:
        return ()
    valleys = [int(np.argmin(slope[a:b])) + a for a, b in pairwise(peaks)]
    plateaus = [float(y[0]), *(float(np.interp(_middle(slope, at, grid), x, y)) for at in valleys), float(y[-1])]
    found = []
    for low, high in pairwise(plateaus):
        if high - low >= LEAST:
            at = int(np.searchsorted(y, (low + high) / 2, side="right")) - 1
            found.append(CurveStep(places[at], places[at + 1], 2.0**low, 2.0**high))
    return tuple(found)


def smooth(heights: Floats) -> Floats:
    """Return the median of each point and its two neighbours, at the ends of the three last ones.

    Examples
    --------
    >>> smooth(np.array([1.0, 9.0, 1.0, 4.0, 4.0])).tolist()
    [1.0, 1.0, 4.0, 4.0, 4.0]
    """
    inner = np.median(np.stack((heights[:-2], heights[1:-1], heights[2:])), axis=0)
    return np.concatenate(([np.median(heights[:3])], inner, [np.median(heights[-3:])]))


def monotone(heights: Floats) -> Floats:
    """Return the non-decreasing curve with the least absolute error: blocks that fall are pooled to their median.

    Examples
    --------
    >>> monotone(np.array([1.0, 9.0, 2.0, 3.0])).tolist()
    [1.0, 3.0, 3.0, 3.0]
    """
    blocks: list[list[float]] = []
    for height in heights.tolist():
        blocks.append([height])
        while len(blocks) > 1 and np.median(blocks[-2]) > np.median(blocks[-1]):
            last = blocks.pop()
            blocks[-1] += last
    return np.concatenate([np.full(len(block), np.median(block)) for block in blocks])


def _peaks(slope: Floats) -> list[int]:
    """Return the places of the peaks: high enough, and with a valley of half their height between each two."""
    found: list[int] = []
    lowest = 0.0  # of the slope since the last peak
    for at, height in enumerate(slope.tolist()):
        lowest = min(lowest, height)
        if height < STEEP:
            continue
        if not found or lowest <= min(slope[found[-1]], height) / 2:
            found.append(at)
            lowest = height
        elif height > slope[found[-1]]:
            found[-1], lowest = at, height
    return found


def _middle(slope: Floats, at: int, grid: Floats) -> float:
    """Return the middle of the flat part around the place with the least slope."""
    flat = slope <= slope[at] + 0.02
    first, last = at, at
    while first > 0 and flat[first - 1]:
        first -= 1
    while last + 1 < len(slope) and flat[last + 1]:
        last += 1
    return float(grid[first] + grid[last]) / 2
