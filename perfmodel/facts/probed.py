r"""Facts of a device from its probes: small microbenchmarks, each with a curve that shows one property.

:mod:`perfmodel.measuring.probes` takes the times, and a store keeps them in ``probes.jsonl``. A curve that is not clear
is not used. ``docs/facts.md`` states each rule.

*Caches*. The time of a load in a pointer chase, over the footprint of the chase, has a step at each capacity. Let x and
y be the logarithms of the footprint and of the time to the base 2.

Each point is replaced by the median of itself and its neighbours. Where the curve falls, adjacent points are pooled to
their median (isotonic regression in the absolute error). The *slope* at x is the rise from x - 1/4 to x + 1/4. Peaks of
the slope of at least :data:`STEEP` are steps, if between two peaks the slope falls below half of the lower peak. The
plateau between two steps is where the slope is least. The capacity is the largest measured footprint whose y is at most
halfway between the plateau before the step and the plateau after it. A total rise of less than :data:`LEAST_RISE` is
not a step.

*Lanes*. Some lanes make all trips in a first loop, and the other lanes in a second loop. If the lanes of a block run in
lockstep, a block with both kinds takes twice as long as a block with one kind.

*Barriers*. In one group of G work-items, b barriers take :math:`t(b, G) = t_0(G) + b (\alpha + \beta G)`. The fact
``barrier_group_s`` is :math:`\alpha`, and ``barrier_s`` is :math:`\beta`.

*Overlap*. The exponent p of :math:`T = (A^p + B^p)^{1/p}` is 1 for no overlap (the sum), and large for a full overlap
(the maximum). A is the time of a kernel that only moves data. B is the time of the same kernel with arithmetic on data
in registers. T is the time of the kernel with both.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import ceil, log, log2, sqrt
from typing import Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from perfmodel.display import bytes_text
from perfmodel.facts.device_facts import Fact

SCHEMA: Final = "perfmodel.probe/1"
CHASE, CONFLICTS, LINE, PAGES, STREAM = "chase", "conflicts", "line", "pages", "stream"
LANES, NESTS, BARRIERS, OVERLAP = "lanes", "nests", "barriers", "overlap"
LEVELS = ("l1", "l2", "l3")
DTYPES = ("float32", "float64")
CLEAR = 1.2  # times that differ by less than this factor count as equal
LEAST_RISE = 0.4  # least rise of a step, as a logarithm to the base 2: a factor of 1.32
STEEP = 0.25  # least rise over half an octave, on the same scale
PROBED_PAGE = 4096  # bytes from each probed page to the next
LEAST_PAGES = 256  # the second level of a TLB covers more pages than this; an earlier step is the first level's
BEYOND = 1.5  # a last level is larger than this multiple of the second levels of all units
TWICE = 1.5  # a block of lanes that takes longer than this multiple of lanes of one kind waits in both loops
FREE = 2.0  # a device hides latency if four to eight times as many lanes take less than this factor longer
LEAST, MOST = 1.0, 16.0  # exponents of the overlap
COMPARABLE = 8.0  # kernels whose times of memory and computing differ by a larger factor do not show the overlap
_GRID = 16  # points for each factor of two at which the slope is computed
_PARTS, _PASSES = 16, 5

Floats = NDArray[np.float64]
Setting: TypeAlias = int | float | str


@dataclass(frozen=True)
class Point:
    """The runs of one configuration of a probe. A configuration without work gives the cost of the launch."""

    at: Mapping[str, Setting]  # the settings by name: a footprint in bytes, a number of barriers
    work: float  # units of work in one run: loads, iterations
    host_s: tuple[float, ...]  # times of all runs in order, by the host's clock [s]


@dataclass(frozen=True)
class ProbeRun:
    """One visit of a probe to a device: a line of ``probes.jsonl``."""

    probe: str
    campaign: str  #: name of the settings that it ran with
    series: int  #: the visits of one series belong together; a later series replaces an earlier one
    visit: int
    device: str
    platform: str
    driver: str
    versions: dict[str, str]
    taken_at: str
    took_s: float
    dropped: int  #: first runs of each configuration that do not count
    points: tuple[Point, ...] = ()
    status: Literal["ok", "failed"] = "ok"
    message: str = ""  #: why the device could not run it
    schema: Literal["perfmodel.probe/1"] = field(default=SCHEMA)

    def seconds(self) -> dict[tuple[tuple[str, Setting], ...], float]:
        r"""Return :math:`(\min t - \min t_0) / w` at each setting [s], with the times :math:`t_0` of no work."""
        quickest = [(point, min(point.host_s[self.dropped :], default=float("inf"))) for point in self.points]
        launch = min((seconds for point, seconds in quickest if point.work == 0), default=0.0)
        return {
            tuple(sorted(point.at.items())): max(seconds - launch, 0.0) / point.work
            for point, seconds in quickest if point.work > 0
        }  # fmt: skip


def newest(runs: Sequence[ProbeRun], probe: str) -> tuple[ProbeRun, ...]:
    """Return the visits of a probe's newest series that did not fail."""
    visits = [run for run in runs if run.probe == probe and run.status == "ok"]
    last = max((run.series for run in visits), default=0)
    return tuple(run for run in visits if run.series == last)


def times(runs: Sequence[ProbeRun], *names: str, **where: Setting) -> Mapping[tuple[Setting, ...], float]:
    """Return the shortest time for a unit of work [s] by the named settings, of configurations with `where`."""
    lowest: dict[tuple[Setting, ...], float] = {}
    for run in runs:
        for settings, seconds in run.seconds().items():
            at = dict(settings)
            if all(at.get(name) == value for name, value in where.items()) and seconds > 0 and set(names) <= set(at):
                key = tuple(at[name] for name in names)
                lowest[key] = min(seconds, lowest.get(key, seconds))

    def order(key: tuple[Setting, ...]) -> tuple[Setting, ...]:
        return tuple(map(str, key)) if any(isinstance(part, str) for part in key) else key

    return {key: lowest[key] for key in sorted(lowest, key=order)}


def probed_facts(runs: Sequence[ProbeRun]) -> dict[str, Fact]:
    """Return the facts that the runs of one device determine clearly, by key. Each source begins with "measured"."""
    rules = (cache_facts, page_facts, last_level_fact, lane_facts, barrier_facts, overlap_facts)
    return {key: fact for rule in rules for key, fact in rule(runs).items()}


@dataclass(frozen=True)
class CurveStep:
    """One step of a curve: the measured positions around its middle, and the heights of the plateaus around it."""

    last: float
    first: float
    before: float
    after: float


def capacities(runs: Sequence[ProbeRun]) -> tuple[CurveStep, ...]:
    """Return the steps of the time of a load over the footprint, in bytes and seconds."""
    curve = times(newest(runs, CHASE), "bytes")
    return steps([float(key[0]) for key in curve], list(curve.values()))


def cache_facts(runs: Sequence[ProbeRun]) -> dict[str, Fact]:
    """Return the capacities [B] and load times [s] of up to three levels, and the load time of memory."""
    facts: dict[str, Fact] = {}
    levels = capacities(runs)
    for name, step in zip(LEVELS, levels, strict=False):
        last, first = bytes_text(step.last), bytes_text(step.first)
        between = f"measured, pointer chase: the time of a load steps up between {last} and {first}"
        facts[f"{name}_bytes"] = Fact(int(step.last), "B", between)
        facts[f"{name}_load_s"] = Fact(step.before, "s", f"measured, pointer chase: plateau below {last}")
    if levels:
        beyond = bytes_text(levels[-1].first)
        facts["memory_load_s"] = Fact(levels[-1].after, "s", f"measured, pointer chase: plateau above {beyond}")
        line = _line_bytes(runs)
        if line:
            source = f"measured, pairs of loads: the second is free up to {line // 2} B from the first, not at {line} B"
            facts["l1_line_bytes"] = Fact(line, "B", source)
        facts.update(_ways(runs, levels, line or 64))
    return facts


def page_facts(runs: Sequence[ProbeRun]) -> dict[str, Fact]:
    """Return ``page_bytes`` and ``tlb_pages``, if the curve has a step at the number of pages that the TLB covers.

    The curve is the time of loads that each use another page, minus the time that as many lines cost in caches.
    """
    curve = times(newest(runs, PAGES), "pages", "lines")
    packed, spread = ({int(n): s for (n, lines), s in curve.items() if lines == kind} for kind in ("packed", "spread"))
    pages = sorted(packed.keys() & spread.keys())
    least = min(packed.values(), default=0.0)
    ends = [s for s in steps(pages, [least + max(spread[n] - packed[n], 0.0) for n in pages]) if s.last >= LEAST_PAGES]
    if not ends:
        return {}
    end = max(ends, key=lambda step: step.after / step.before)
    source = f"measured, a line of each page: the time of a load steps up between {end.last} and {end.first} pages"
    return {"page_bytes": Fact(PROBED_PAGE, "B", source), "tlb_pages": Fact(int(end.last), "", source)}


def last_level_fact(runs: Sequence[ProbeRun]) -> dict[str, Fact]:
    """Return ``last_level_bytes`` [B], if repeated reading slows down at a footprint above all second-level caches."""
    curve, levels = times(newest(runs, STREAM), "bytes", "units"), capacities(runs)
    second = max((float(units) for _, units in curve), default=0.0) * (levels[1].last if len(levels) > 1 else 0.0)
    ends = [s for s in steps([float(key[0]) for key in curve], list(curve.values())) if s.last > BEYOND * second]
    if not ends:
        return {}
    between = f"between {bytes_text(ends[0].last)} and {bytes_text(ends[0].first)}"
    return {"last_level_bytes": Fact(int(ends[0].last), "B", f"measured, all units read again: slower {between}")}


def _line_bytes(runs: Sequence[ProbeRun]) -> int:
    """Return the line size of the first-level cache [B], the least distance at which both loads of a pair miss."""
    pairs = times(newest(runs, LINE), "apart")
    if len(pairs) < 3:
        return 0
    distances, seconds = [int(key[0]) for key in pairs], list(pairs.values())
    near, far = seconds[0], max(seconds)
    line = next((d for d, s in zip(distances, seconds, strict=True) if s > sqrt(near * far)), 0)
    return line if far >= CLEAR * near else 0


def _ways(runs: Sequence[ProbeRun], levels: tuple[CurveStep, ...], line: int) -> dict[str, Fact]:
    """Return the ways of the first two caches, from chases over lines at strides of powers of two.

    Lines at a large stride share a set. For each stride, the lines that fit are the most lines whose load time is below
    the middle between this level and the next. The ways are the smallest of these numbers. Lines that are many pages
    apart may also share a set of the TLB, and then fewer lines fit. Therefore two strides must agree, and the ways
    times a power of two must give a capacity in the step.
    """
    facts: dict[str, Fact] = {}
    for name, step in zip(LEVELS[:2], levels, strict=False):
        fewest = _fewest_lines(runs, sqrt(step.before * step.after))
        ways = min(fewest.values(), default=0)
        strides = [stride for stride, lines in fewest.items() if lines == ways]
        capacity_fits = ways and ways * line * 2 ** ceil(log2(step.last / (ways * line))) < step.first
        if capacity_fits and len(strides) > 1:
            kept = f"up to {ways} lines at strides from {bytes_text(min(strides))} stay in the cache"
            facts[f"{name}_ways"] = Fact(ways, "", f"measured, lines in one set: {kept}")
    return facts


def _fewest_lines(runs: Sequence[ProbeRun], bound_s: float) -> Mapping[int, int]:
    curve = times(newest(runs, CONFLICTS), "stride", "lines")
    fewest = {}
    for stride in sorted({int(key[0]) for key in curve}):
        lines = [(int(key[1]), seconds) for key, seconds in curve.items() if key[0] == stride]
        above = [count for count, seconds in lines if seconds > bound_s]
        below = [count for count, _ in lines if above and count < min(above)]
        if above and below and np.median([s for n, s in lines if n >= min(above)]) > bound_s:
            fewest[stride] = max(below)
    return fewest


def steps(positions: Sequence[float], heights: Sequence[float]) -> tuple[CurveStep, ...]:
    """Return the steps of a curve, from the left. Positions must rise, and all numbers must be positive."""
    if len(positions) < 3:
        return ()
    x, y = np.log2(np.asarray(positions, np.float64)), monotone(smooth(np.log2(np.asarray(heights, np.float64))))
    grid = np.linspace(x[0], x[-1], max(3, round((x[-1] - x[0]) * _GRID) + 1))
    slope = np.interp(grid + 0.25, x, y) - np.interp(grid - 0.25, x, y)
    peaks = _peaks(slope)
    if not peaks:
        return ()
    valleys = [int(np.argmin(slope[a:b])) + a for a, b in pairwise(peaks)]
    plateaus = [float(y[0]), *(float(np.interp(_middle(slope, at, grid), x, y)) for at in valleys), float(y[-1])]
    rises = []
    for low, high in pairwise(plateaus):
        if high - low >= LEAST_RISE:
            at = int(np.searchsorted(y, (low + high) / 2, side="right")) - 1
            rises.append(CurveStep(positions[at], positions[at + 1], 2.0**low, 2.0**high))
    return tuple(rises)


def smooth(heights: Floats) -> Floats:
    """Return the median of each point and both neighbours. At the ends use the three outermost points."""
    inner = np.median(np.stack((heights[:-2], heights[1:-1], heights[2:])), axis=0)
    return np.concatenate(([np.median(heights[:3])], inner, [np.median(heights[-3:])]))


def monotone(heights: Floats) -> Floats:
    """Return the non-decreasing curve with the least absolute error. Blocks that fall are pooled to their median."""
    blocks: list[list[float]] = []
    for height in heights.tolist():
        blocks.append([height])
        while len(blocks) > 1 and np.median(blocks[-2]) > np.median(blocks[-1]):
            last = blocks.pop()
            blocks[-1] += last
    return np.concatenate([np.full(len(block), np.median(block)) for block in blocks])


def _peaks(slope: Floats) -> list[int]:
    """Return the indices of peaks of at least :data:`STEEP`, with a valley of half their height between two peaks."""
    peaks: list[int] = []
    lowest = 0.0  # of the slope since the last peak
    for at, height in enumerate(slope.tolist()):
        lowest = min(lowest, height)
        if height < STEEP:
            continue
        if not peaks or lowest <= min(slope[peaks[-1]], height) / 2:
            peaks.append(at)
            lowest = height
        elif height > slope[peaks[-1]]:
            peaks[-1], lowest = at, height
    return peaks


def _middle(slope: Floats, at: int, grid: Floats) -> float:
    steep = np.flatnonzero(slope > slope[at] + 0.02)
    first = max(steep[steep < at], default=-1) + 1
    last = min(steep[steep > at], default=len(slope)) - 1
    return float(grid[first] + grid[last]) / 2


def in_step(runs: Sequence[ProbeRun], dtype: str) -> int:
    """Return how many lanes run in lockstep. Unless ratios fall once from 2 to 1, or all are about 1, return 0."""
    curve = times(newest(runs, LANES), "block", "lanes", dtype=dtype)
    widest = max((int(key[1]) for key in curve), default=0)
    same = curve.get((widest, widest))
    ratios = {int(b): s / same for (b, lanes), s in curve.items() if same and lanes == widest and b != widest}
    waits = [block for block, ratio in sorted(ratios.items()) if ratio > TWICE]
    if not ratios or waits != sorted(ratios)[: len(waits)]:  # not one fall
        return 0
    return 2 * max(waits) if waits else 1


def lane_facts(runs: Sequence[ProbeRun]) -> dict[str, Fact]:
    """Return ``lane_order``, ``lockstep_lanes``, ``vector_lanes`` and ``vector_lanes_float64``, if clear."""
    width = in_step(runs, "float32")
    if not width:
        return {}
    facts = {"lockstep_lanes": Fact(width, "work-items", f"measured, lanes with different trips: {_waiting(width)}")}
    growth = _growth(runs, width)
    if growth is not None:
        few, many, ratio = growth
        order = "multithreaded" if ratio < FREE else "lockstep" if width > 1 else "serial"
        more = f"{many} lanes take {ratio:.2g} times as long as {few}"
        facts["lane_order"] = Fact(order, "", f"measured, lanes with different trips: {_waiting(width)}, and {more}")
    for dtype, key in zip(DTYPES, ("vector_lanes", "vector_lanes_float64"), strict=True):
        lanes = in_step(runs, dtype)
        if lanes > 1:
            facts[key] = Fact(lanes, "work-items", f"measured, lanes with different trips, {dtype}: {_waiting(lanes)}")
        elif lanes == 1 and (ratio := vector_gain(runs, dtype)):
            gain = 2 ** max(0, round(log2(ratio)))
            speed = f"a nest without a loop is {ratio:.3g} times as fast as the same with a loop"
            facts[key] = Fact(gain, "work-items", f"measured, {dtype}: {speed}, to a power of two")
    return facts


def _waiting(width: int) -> str:
    return f"{width} lanes wait for each other" if width > 1 else "no lane waits for another"


def _growth(runs: Sequence[ProbeRun], width: int) -> tuple[int, int, float] | None:
    """Return two numbers of lanes with a ratio of 4 to 8, and the ratio of their times."""
    curve = times(newest(runs, LANES), "block", "lanes", dtype="float32")
    alone = {int(lanes): seconds for (block, lanes), seconds in curve.items() if block == lanes}
    pairs = [(few, many) for few in sorted(alone) for many in sorted(alone) if width <= few and 4 <= many / few <= 8]
    if not pairs:
        return None
    few, many = min(pairs, key=lambda pair: (pair[0], -pair[1]))
    return few, many, alone[many] / alone[few]


def vector_gain(runs: Sequence[ProbeRun], dtype: str) -> float:
    """Return the ratio of a chain's time with a loop to the time without a loop, or 0 if not measured."""
    curve = times(newest(runs, NESTS), "nest", "operations", dtype=dtype)
    slopes = {}
    for nest in ("straight", "looped"):
        line = sorted((float(operations), s) for (kind, operations), s in curve.items() if kind == nest)
        if len(line) < 2 or line[-1][1] <= line[0][1]:
            return 0.0
        slopes[nest] = (line[-1][1] - line[0][1]) / (line[-1][0] - line[0][0])
    return slopes["looped"] / slopes["straight"]


def barrier_slopes(runs: Sequence[ProbeRun]) -> dict[int, float]:
    """Return the time of one more barrier [s] for each number of work-items in the group, or 0 if unclear."""
    curve = times(newest(runs, BARRIERS), "items", "barriers")
    slopes = {}
    for items in sorted({int(key[0]) for key in curve}):
        line = [(float(key[1]), s) for key, s in curve.items() if key[0] == items and float(key[1]) > 0]
        if len(line) > 1:
            numbers, seconds = np.array(line).T
            slope = float(np.polynomial.Polynomial.fit(numbers, seconds, deg=1).convert().coef[1])
            slopes[items] = slope if seconds[-1] > CLEAR * seconds[0] else 0.0
    return slopes


def barrier_facts(runs: Sequence[ProbeRun]) -> dict[str, Fact]:
    """Return ``barrier_s`` [s for each work-item] and ``barrier_group_s`` [s], if all slopes are positive."""
    slopes = barrier_slopes(runs)
    if len(slopes) < 2 or min(slopes.values()) <= 0:
        return {}
    from scipy.optimize import nnls  # imported here: a prediction needs no SciPy

    items, seconds = np.array(list(slopes), np.float64), np.array(list(slopes.values()))
    group, item = map(float, nnls(np.column_stack((1 / seconds, items / seconds)), np.ones(len(items)))[0])
    source = f"measured, kernels with and without barriers, groups of {', '.join(map(str, slopes))}"
    return {"barrier_s": Fact(item, "s", source), "barrier_group_s": Fact(group, "s", source)}


def exponent(triples: Sequence[tuple[float, float, float]]) -> float:
    r"""Return the p in [1, 16] that fits the times (A, B, T) best, with the least sum of :math:`\log^2(T_p/T)`."""

    def error(reciprocal: float) -> float:
        return sum(log(together(a, b, 1 / reciprocal) / t) ** 2 for a, b, t in triples)

    low, high = 1 / MOST, 1 / LEAST
    for _ in range(_PASSES):  # each pass refines the grid around the best point of the last one
        grid = np.linspace(low, high, 2 * _PARTS + 1)
        best = int(np.argmin([error(reciprocal) for reciprocal in grid]))
        low, high = float(grid[max(best - 1, 0)]), float(grid[min(best + 1, 2 * _PARTS)])
    return 1 / float(grid[best])


def together(a: float, b: float, p: float) -> float:
    """Return the p-norm of two positive times."""
    large, small = max(a, b), min(a, b)
    return float(large * (1 + (small / large) ** p) ** (1 / p))


def triples(runs: Sequence[ProbeRun]) -> dict[int, tuple[float, float, float]]:
    """Return the times of memory alone, of computing alone and of both [s], by the operations of each work-item."""
    curve = times(newest(runs, OVERLAP), "part", "operations")
    memory = curve.get(("memory", 0))
    if memory is None:
        return {}
    return {
        int(operations): (memory, curve["compute", operations], seconds)
        for (part, operations), seconds in curve.items() if part == "both" and ("compute", operations) in curve
    }  # fmt: skip


def overlap_facts(runs: Sequence[ProbeRun]) -> dict[str, Fact]:
    """Return ``overlap_exponent``, or nothing if no kernel has comparable times of memory and computing."""
    usable = [(a, b, t) for a, b, t in triples(runs).values() if 1 / COMPARABLE <= a / b <= COMPARABLE]
    if not usable:
        return {}
    p = exponent(usable)
    bound = " or more" if p == MOST else " or less" if p == LEAST else ""
    source = f"measured, {len(usable)} kernels with memory, arithmetic and both: {p:.3g}{bound}"
    return {"overlap_exponent": Fact(p, "", source)}
