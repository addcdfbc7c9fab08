r"""How a device executes: the order of its lanes, the cost of its barriers, and how far computing and memory overlap.

*Lanes*. Lanes run two loops, one after the other. Some make all trips in the first loop, the others all in the second.
Lanes that run in step wait for each other in both loops: if a block of lanes in step holds lanes of both kinds, it
takes twice the time of lanes of one kind. Lanes that run one after the other always take the time of their own trips.
Blocks of one kind are 1, 2, 4 ... lanes long; the shortest blocks that cost no more than lanes of one kind are the
lanes that run in step.

*Barriers*. Kernels differ only in how many they have:

.. math:: t(b, G) = t_0(G) + b (\alpha + \beta G)

for b barriers of one group of G work-items. :math:`\alpha` is the fact ``barrier_group_s``, :math:`\beta` is
``barrier_s``. The slope over b is a least-squares line for each G; :math:`\alpha, \beta \ge 0` fit the slopes with the
least relative error. Between two barriers each work-item computes a private value, which must be kept over the barrier.

*Overlap*. The exponent p of :math:`T = (A^p + B^p)^{1/p}` says how far computing and memory overlap.
A is the time of a kernel that only moves data, B that of the same kernel with data at hand and arithmetic, and T that
of the kernel with both. p = 1 is no overlap (the sum), and a large p a full one (the maximum).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import log, log2

import numpy as np
from numpy.typing import NDArray

from perfmodel.facts.fact import Fact
from perfmodel.facts.probed.run import ProbeRun, newest, times

LANES, NESTS, BARRIERS, OVERLAP = "lanes", "nests", "barriers", "overlap"
SERIAL, LOCKSTEP, MULTITHREADED = "serial", "lockstep", "multithreaded"
ORDERS = (SERIAL, LOCKSTEP, MULTITHREADED)
DTYPES = ("float32", "float64")
#: Between one and two: a block of lanes that takes longer than this, over lanes of one kind, waits in both loops.
TWICE = 1.5
#: Four to eight times as many lanes that take less than this factor longer are hidden by the device.
FREE = 2.0
#: Times with barriers that differ by less than this factor are taken for equal.
CLEAR = 1.2
LEAST, MOST = 1.0, 16.0  # exponents of the overlap
#: Kernels whose times of memory and of computing differ by more than this factor tell nothing of the overlap.
COMPARABLE = 8.0
_PARTS, _PASSES = 16, 5

Floats = NDArray[np.float64]


def in_step(runs: Iterable[ProbeRun], dtype: str) -> int:
    """Return the lanes that run in step; 0 where the curve is not clear.

    The ratios must fall from about 2 to about 1, or be about 1 throughout.
    """
    curve = times(newest(runs, LANES), "block", "lanes", dtype=dtype)
    widest = max((int(key[1]) for key in curve), default=0)
    same = curve.get((widest, widest))
    ratios = {int(b): s / same for (b, lanes), s in curve.items() if same and lanes == widest and b != widest}
    waits = [block for block, ratio in sorted(ratios.items()) if ratio > TWICE]
    if not ratios or waits != sorted(ratios)[: len(waits)]:  # not one fall
        return 0
    return 2 * max(waits) if waits else 1


def lane_facts(runs: Iterable[ProbeRun]) -> dict[str, Fact]:
    """Return ``lane_order``, ``lockstep_lanes``, ``vector_lanes`` and ``vector_lanes_float64``, if clear."""
    runs = tuple(runs)
    width = in_step(runs, "float32")
    if not width:
        return {}
    found = {"lockstep_lanes": Fact(width, "work-items", f"measured, lanes with different trips: {_told(width)}")}
    growth = _growth(runs, width)
    if growth is not None:
        few, many, ratio = growth
        order = MULTITHREADED if ratio < FREE else LOCKSTEP if width > 1 else SERIAL
        more = f"{many} lanes take {ratio:.2g} times as long as {few}"
        found["lane_order"] = Fact(order, "", f"measured, lanes with different trips: {_told(width)}, and {more}")
    for dtype, key in zip(DTYPES, ("vector_lanes", "vector_lanes_float64"), strict=True):
        lanes = in_step(runs, dtype)
        if lanes > 1:
            found[key] = Fact(lanes, "work-items", f"measured, lanes with different trips, {dtype}: {_told(lanes)}")
        elif lanes == 1 and (ratio := _vector_gain(runs, dtype)):
            gain = 2 ** max(0, round(log2(ratio)))
            said = f"a nest without a loop is {ratio:.3g} times as fast as the same with a loop"
            found[key] = Fact(gain, "work-items", f"measured, {dtype}: {said}, to a power of two")
    return found


def _told(width: int) -> str:
    return f"{width} lanes wait for each other" if width > 1 else "no lane waits for another"


def _growth(runs: tuple[ProbeRun, ...], width: int) -> tuple[int, int, float] | None:
    """Return two numbers of lanes, the first at least `width`, and the ratio of their times; None if not measured.

    The second number is four to eight times the first.
    """
    curve = times(newest(runs, LANES), "block", "lanes", dtype="float32")
    alone = {int(lanes): seconds for (block, lanes), seconds in curve.items() if block == lanes}
    pairs = [(few, many) for few in sorted(alone) for many in sorted(alone) if width <= few and 4 <= many / few <= 8]
    if not pairs:
        return None
    few = pairs[0][0]
    many = max(more for less, more in pairs if less == few)
    return few, many, alone[many] / alone[few]


def _vector_gain(runs: tuple[ProbeRun, ...], dtype: str) -> float:
    r"""Return how much quicker an operation is where lanes can share a vector, 0 if it was not measured.

    Two lengths of a straight chain of operations give its slope, with and without a loop around the chain.
    """
    curve = times(newest(runs, NESTS), "nest", "operations", dtype=dtype)
    slopes = {}
    for nest in ("straight", "looped"):
        line = sorted((float(operations), s) for (kind, operations), s in curve.items() if kind == nest)
        if len(line) < 2 or line[-1][1] <= line[0][1]:
            return 0.0
        slopes[nest] = (line[-1][1] - line[0][1]) / (line[-1][0] - line[0][0])
    return slopes["looped"] / slopes["straight"]


def barrier_slopes(runs: Iterable[ProbeRun]) -> dict[int, float]:
    """Return the time of one more barrier [s] by the work-items of the group; kernels without any are left out.

    It is zero where the most barriers take less than :data:`CLEAR` times as long as the fewest.
    """
    curve = times(newest(runs, BARRIERS), "items", "barriers")
    found = {}
    for items in sorted({int(key[0]) for key in curve}):
        line = [(float(key[1]), s) for key, s in curve.items() if key[0] == items and float(key[1]) > 0]
        if len(line) > 1:
            numbers, seconds = np.array(line).T
            slope = float(np.polynomial.Polynomial.fit(numbers, seconds, deg=1).convert().coef[1])
            found[items] = slope if seconds[-1] > CLEAR * seconds[0] else 0.0
    return found


def barrier_facts(runs: Iterable[ProbeRun]) -> dict[str, Fact]:
    """Return ``barrier_s`` [s for each work-item] and ``barrier_group_s`` [s], if all slopes are positive."""
    slopes = barrier_slopes(runs)
    if len(slopes) < 2 or min(slopes.values()) <= 0:
        return {}
    group, item = _line(np.array(list(slopes), np.float64), np.array(list(slopes.values())))
    source = f"measured, kernels with and without barriers, groups of {', '.join(map(str, slopes))}"
    return {"barrier_s": Fact(item, "s", source), "barrier_group_s": Fact(group, "s", source)}


def _line(items: Floats, seconds: Floats) -> tuple[float, float]:
    """Return the line through the slopes with the least squared relative error, neither number below zero."""
    columns = np.column_stack((1 / seconds, items / seconds))
    both = np.linalg.lstsq(columns, np.ones(len(items)), rcond=None)[0]
    if (both >= 0).all():
        return float(both[0]), float(both[1])
    alone = [float(column.sum() / (column @ column)) for column in columns.T]  # each number with the other at zero
    errors = [float(((column * value - 1) ** 2).sum()) for column, value in zip(columns.T, alone, strict=True)]
    return (alone[0], 0.0) if errors[0] <= errors[1] else (0.0, alone[1])


def exponent(triples: Sequence[tuple[float, float, float]]) -> float:
    r"""Return the p in [1, 16] that fits the times (A, B, T) best: the least sum of :math:`\log^2(T_p/T)`.

    Examples
    --------
    >>> round(exponent([(3.0, 4.0, 5.0)]), 3), exponent([(1.0, 1.0, 2.5)]), exponent([(1.0, 2.0, 1.9)])
    (2.0, 1.0, 16.0)
    """

    def error(reciprocal: float) -> float:
        return sum(log(together(a, b, 1 / reciprocal) / t) ** 2 for a, b, t in triples)

    low, high = 1 / MOST, 1 / LEAST
    for _ in range(_PASSES):  # each looks closer around the best of the pass before
        grid = np.linspace(low, high, 2 * _PARTS + 1)
        best = int(np.argmin([error(reciprocal) for reciprocal in grid]))
        low, high = float(grid[max(best - 1, 0)]), float(grid[min(best + 1, 2 * _PARTS)])
    return 1 / float(grid[best])


def together(a: float, b: float, p: float) -> float:
    """Return the p-norm of two times, which are above zero."""
    large, small = max(a, b), min(a, b)
    return float(large * (1 + (small / large) ** p) ** (1 / p))


def triples(runs: Iterable[ProbeRun]) -> dict[int, tuple[float, float, float]]:
    """Return the times of memory alone, of computing alone and of both [s], by the operations of each work-item."""
    curve = times(newest(runs, OVERLAP), "part", "operations")
    memory = curve.get(("memory", 0))
    if memory is None:
        return {}
    return {
        int(operations): (memory, curve["compute", operations], seconds)
        for (part, operations), seconds in curve.items() if part == "both" and ("compute", operations) in curve
    }  # fmt: skip


def overlap_facts(runs: Iterable[ProbeRun]) -> dict[str, Fact]:
    """Return ``overlap_exponent``; nothing where no kernel has memory and computing of comparable times."""
    usable = [(a, b, t) for a, b, t in triples(runs).values() if 1 / COMPARABLE <= a / b <= COMPARABLE]
    if not usable:
        return {}
    p = exponent(usable)
    bound = " or more" if p == MOST else " or less" if p == LEAST else ""
    source = f"measured, {len(usable)} kernels with memory, arithmetic and both: {p:.3g}{bound}"
    return {"overlap_exponent": Fact(p, "", source)}
