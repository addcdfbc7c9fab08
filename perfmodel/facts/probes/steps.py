r"""Steps of a curve that rises from plateau to plateau, as the time of a load over the footprint does.

The rule, with x the logarithm of the footprint and y that of the time, both to the base 2:

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

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

LEAST = 0.4
"""Least rise of a step, as a logarithm to the base 2: a third."""
STEEP = 0.25
"""Least rise over half an octave, on the same scale."""
_GRID = 16
"""Places for each factor of two at which the slope is looked at."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Step:
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


def steps(places: Sequence[float], heights: Sequence[float]) -> tuple[Step, ...]:
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
            found.append(Step(places[at], places[at + 1], 2.0**low, 2.0**high))
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
