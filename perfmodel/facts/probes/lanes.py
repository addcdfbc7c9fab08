r"""How a device runs the lanes of a work-group: one after the other, in step, or many sub-groups at a time.

Lanes run two loops, one after the other. Some lanes make all trips in the first loop, the others all in the second.
Lanes that run in step wait for each other in both loops: if a block of lanes in step holds lanes of both kinds, it
takes twice the time of lanes of one kind. Lanes that run one after the other always take the time of their own trips.
Blocks of one kind are 1, 2, 4 ... lanes long; the shortest blocks that cost no more than lanes of one kind are the
lanes that run in step.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import log2

from perfmodel.facts.fact import Fact
from perfmodel.facts.probes.run import ProbeRun, newest, times

LANES, NESTS = "lanes", "nests"
SERIAL, LOCKSTEP, MULTITHREADED = "serial", "lockstep", "multithreaded"
ORDERS = (SERIAL, LOCKSTEP, MULTITHREADED)
DTYPES = ("float32", "float64")
TWICE = 1.5
"""Between one and two: a block of lanes that takes longer than this, over lanes of one kind, waits in both loops."""
FREE = 2.0
"""Four to eight times as many lanes that take less than this factor longer are hidden by the device."""


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
