"""The lines that a cache fetches while a kernel runs: layer conditions for any loop nest, cache size and associativity.

:class:`Traffic` is called with sizes and returns :class:`MovedLines`. These are a model, not an exact count.

:func:`traffic_plan` prepares the loop tree and its references once for all sizes. At given sizes, the footprints of
loops give the lines that are touched between two uses of a line (:class:`ReuseDistances`). If these lines exceed the
cache, the line is evicted. For each reference, some outermost loop keeps the lines in the cache between its iterations.
The lines that the reference touches in this loop are fetched once per execution of the loop (:class:`LayerConditions`).
This extends the layer condition of stencil codes (Stengel et al. 2015), and is much faster than a simulation.

A loop, and a reference ``k``, is a number in the tree. A child of a loop is a loop or a reference directly inside it. A
*gap* lies between two children with consecutive uses of an array. A *cluster* is a group of neighbouring children.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import reduce
from itertools import pairwise
from math import exp, expm1, prod
from operator import or_
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from perfmodel.counts.counters.executions import Cardinalities
from perfmodel.counts.program.program import Access
from perfmodel.counts.quasipoly.count import Count
from perfmodel.counts.quasipoly.distinct import NamedCounts
from perfmodel.counts.traffic.boxes import BoxLines, BoxSets, chance_to_stay, overlap
from perfmodel.counts.traffic.footprints import Cache, Footprints, TouchedLines, joined
from perfmodel.counts.traffic.references import Gap, LaunchReferences, references_of
from perfmodel.values import FrozenValue, cached_method

SAME = 1.25  # below this ratio of lines (loop over iteration) the iterations share their lines
PAGE = 4096  # bytes; arrays in global memory start on a page
LEAST = 1e-3  # smaller shares of the sets are ignored
STEPS = 20  # most steps of Newton's method
CLOSE = 1e-4  # relative step at which Newton's method stops
Loads = list[tuple[float, float]]
HALF = 0.5  # lines that stay in at least this share of the sets count as staying


class ReuseDistances(FrozenValue):
    """The lines touched between consecutive uses of a line in a loop.

    A child of the loop that uses the line also touches other lines. On average, half of them come before the use.
    """

    def __init__(self, footprints: Footprints) -> None:
        self.footprints, self.tree = footprints, footprints.tree

    @cached_method
    def between_uses(self, loop: int, k: int) -> tuple[TouchedLines, ...]:
        """Return the lines touched between uses of a reference's lines. The last gap ends in the next iteration."""
        depth = self.tree.loops[loop].depth
        gaps = self.tree.gaps(loop, k)[:-1] if self.footprints.motions[k].steps is not None else ()
        return (*[self._in_gap(gap, loop, depth) for gap in gaps], self._in_last_gap(loop, k, depth))

    @cached_method
    def _in_last_gap(self, loop: int, k: int, depth: int) -> TouchedLines:
        """Return the lines touched between uses of a line in consecutive iterations of the loop at ``depth``."""
        if depth == self.tree.loops[loop].depth == self.footprints.references[k].walked:
            return self.footprints.of_loop(loop, False)
        if self.footprints.motions[k].steps is None:
            return self._at_random(loop, k)
        return self._in_gap(self.tree.gaps(loop, k)[-1], loop, depth)

    def _at_random(self, loop: int, k: int) -> TouchedLines:
        """Return the lines touched between two random uses of a line, in the iterations that choose each line once."""
        whole, iteration = (self.footprints.of_loop(loop, whole).by_array for whole in (True, False))
        array = self.tree.arrays[k]
        turns = max(whole[array].lines / max(iteration[array].lines, 1.0), 1.0)
        return TouchedLines({
            name: lines.part(min(turns * iteration[name].lines / lines.lines, 1.0)) if lines.lines else lines
            for name, lines in whole.items()
        })  # fmt: skip

    def _in_gap(self, gap: Gap, loop: int, depth: int) -> TouchedLines:
        parts = [self.footprints.of(gap.between, self.tree.loops[loop].depth + 1)] if gap.between else []
        if gap.before == gap.after:
            parts.append(self._in_child(gap.before, gap.reference_before, depth))
        else:
            parts.append(self._in_child(gap.before, gap.reference_before, depth).half)
            parts.append(self._in_child(gap.after, gap.reference_after, depth).half)
        return joined(parts) if len(parts) > 1 else parts[0]

    def _in_child(self, child: int, k: int, depth: int) -> TouchedLines:
        """Return the lines that a child touches between uses of a line in consecutive iterations of an outer loop."""
        if child < 0:
            return self.footprints.of(self.tree.below(child), depth + 1)
        motion, child_depth = self.footprints.motions[k], self.tree.loops[child].depth
        if motion.steps is None:
            return self.footprints.of_loop(child, True)
        step, extent = motion.steps[child_depth], motion.extents[child_depth]
        if not step or extent <= 1 or self._shares_lines(k, step, child_depth):
            return self._in_last_gap(child, k, depth)
        return self._without_share(child, self._skipped_share(k, depth, child_depth))

    def _without_share(self, loop: int, share: float) -> TouchedLines:
        whole = self.footprints.of_loop(loop, True)
        if not share:
            return whole
        iteration, by_array = self.footprints.of_loop(loop, False), {}
        for name, array in whole.by_array.items():
            again = min(1.0, iteration.by_array[name].lines / max(array.lines, 1.0))
            by_array[name] = array.part(1 - share * (1 - again))
        return TouchedLines(by_array)

    def _skipped_share(self, k: int, depth: int, inner: int) -> float:
        """Return the share of an inner loop's iterations that are not executed between two uses of a line.

        Iteration ``i`` of the inner loop uses lines that iteration ``i + m`` of an earlier outer iteration used. The
        reference that used these lines may have another start. So ``m`` iterations are not executed in between. If
        ``m`` varies with ``i``, the most frequent value counts. Distances of up to half a line are ignored, since
        consecutive runs share a line.
        """
        motion = self.footprints.motions[k]
        steps = motion.steps or ()
        step, extent = steps[inner], motion.extent(depth, inner)
        shift, tolerance = steps[depth] / step, self.footprints.line / (2 * abs(step))
        if not 0 < shift <= extent + tolerance:
            return 0.0
        shifts = (shift + distance / step for distance in self.footprints.distances(k))
        firsts = sorted({min(max(start, 0.0), extent) for start in shifts if -tolerance <= start <= shift})
        lasts = [after - before for before, after in pairwise([*firsts, extent])]
        return firsts[lasts.index(max(lasts))] / extent

    def _shares_lines(self, k: int, step: int, depth: int) -> bool:
        """Return whether each iteration of a loop touches about the same lines as all iterations together."""
        if abs(step) >= self.footprints.line:
            return False
        loop, iteration = (self.footprints.array_lines((k,), depth + inside).lines for inside in (0, 1))
        return loop < SAME * iteration

    @cached_method
    def loads(self, array: str, depth: int, touched: TouchedLines, sets: int) -> tuple[float, Loads]:
        """Return how many lines an array has in each set, and :func:`.chance_to_stay`'s loads of the other boxes."""
        by_array = touched.by_array
        first, *rest = by_array[array].boxes
        boxes = [*rest, *(box for name in by_array if name != array for box in by_array[name].boxes)]
        loads = [(box.lines_per_set(sets), self._chance_to_meet(first, box, depth, sets)) for box in boxes]
        return first.lines_per_set(sets), loads

    def _chance_to_meet(self, box: BoxLines, other: BoxLines, depth: int, sets: int) -> float:
        """Return the share of a box's sets (the sets that have its lines) in which another box has lines too.

        Arrays start on pages. If both boxes move alike, the share is therefore known. Otherwise all sets are equally
        likely.
        """
        line, here, there = self.footprints.line, box.box.in_sets(sets), other.box.in_sets(sets)
        if _repeat_alike(here, there) and self._move_alike(box, other, there.period, depth):
            return max([
                overlap(box.box.low / line, here.run, other.box.low / line, there.run, cycle / line)
                for cycle in (there.period, *there.pitches)
            ])
        return min(other.sets_reached(sets) / sets, 1.0)

    def _move_alike(self, box: BoxLines, other: BoxLines, period: int, depth: int) -> bool:
        """Return whether boxes are on pages and outer loops move both by the same bytes, modulo a period."""
        motion, other_motion = self.footprints.motions[box.reference], self.footprints.motions[other.reference]
        if not (motion.reference.paged and other_motion.reference.paged):
            return False
        loops = zip(motion.steps or (), other_motion.steps or (), motion.extents[:depth], strict=False)
        return all(extent <= 1 or (step - other_step) % period == 0 for step, other_step, extent in loops)


def iterations_that_fill(
    capacity: float, lines: float, chosen: float, others: Sequence[tuple[float, float]], extent: float
) -> float:
    """Return after how many iterations a cache is full. ``capacity`` is in lines. The result is at most ``extent``.

    Each iteration chooses a share of ``lines`` at random. Each of ``others`` adds new lines up to a maximum.
    """
    filled = 0.0
    for _ in range(STEPS):  # the number of touched lines is concave: Newton's method converges from below
        touched = -lines * expm1(-chosen * filled) + sum([min(filled * new, most) for new, most in others])
        slope = lines * chosen * exp(-chosen * filled) + sum([new for new, most in others if filled * new < most])
        if slope * extent < capacity - touched:
            return extent
        before, filled = filled, filled + (capacity - touched) / slope
        if filled - before < CLOSE * filled or filled >= extent:
            break
    return min(filled, extent)


def _repeat_alike(here: BoxSets, there: BoxSets) -> bool:
    """Return whether boxes repeat in the sets of a cache in the same directions, as boxes on pages do."""
    if not there.period or PAGE % there.period or here.period % there.period:
        return False
    return there.pitches in ((), here.pitches[:1])


class Fetch(NamedTuple):
    """References, a depth, and the number of times that their lines in the loops from there inwards are fetched."""

    references: tuple[int, ...]
    depth: int
    times: float


class LayerConditions:
    """The lines that a cache fetches in a launch at given sizes.

    For each reference, an outermost loop keeps the lines between its iterations. The loop's lines are fetched once per
    execution of the loop. Sets receive different numbers of lines, so this loop differs between sets.
    """

    def __init__(self, distances: ReuseDistances, cache: Cache) -> None:
        self.distances, self.cache = distances, cache
        self.footprints, self.tree = distances.footprints, distances.tree
        self.holds_everything = (not cache.sets and self.footprints.most_lines <= cache.lines) or (
            self.footprints.of_loop(0, False).fits(cache)  # all lines of the launch
        )
        self._shares: dict[int, list[float]] = {}

    def _shares_by_depth(self, k: int) -> list[float]:
        """Return the share of a reference's lines that stay from one iteration to the next, for each loop."""
        loops, extents = self.footprints.references[k].loops, self.footprints.motions[k].extents
        share, shares, at_random = 1.0, [1.0] * len(loops), self.footprints.motions[k].at_random
        # all lines stay in the outermost loop that fits the cache as a whole, and in the loops inside it
        touched_in = self.footprints.of_loop
        fitting = next((d for d, loop in enumerate(loops) if touched_in(loop, True).fits(self.cache)), len(loops))
        shares[:fitting] = [0.0] * fitting
        for depth in reversed(range(fitting)):
            if extents[depth] > 1:
                if at_random:
                    share = self._share_at_random(loops[depth], k, share)
                for touched in () if at_random else self.distances.between_uses(loops[depth], k):
                    share = min(share, self._share_staying(k, depth + 1, touched))
                if not share:
                    return shares
            shares[depth] = share
        return shares

    def _share_at_random(self, loop: int, k: int, inside: float) -> float:
        """Return the share of randomly chosen lines that stay from one iteration to the next.

        Each iteration makes :math:`a` random choices among L lines. A share :math:`1 - e^{-a T/L}` of the choices find
        their line in a cache that T iterations fill: H. Che, Y. Tung, Z. Wang, *Hierarchical web caching systems*, IEEE
        JSAC 20 (2002), section III. A repeated choice within an iteration finds its line with probability ``inside``.
        """
        motion, depth = self.footprints.motions[k], self.tree.loops[loop].depth
        lines = motion.window_lines(self.footprints.line)
        choices = prod(motion.extents[depth + 1:])
        chosen, distinct = choices / lines, motion.lines_at_random(depth + 1, self.footprints.line)
        whole, iteration = (self.footprints.of_loop(loop, every).by_array for every in (True, False))
        others = [(iteration[name].lines, whole[name].lines) for name in whole if name != self.tree.arrays[k]]
        filled = iterations_that_fill(self.cache.lines, lines, chosen, others, motion.extents[depth])
        stay = min(-expm1(-chosen * filled), inside) if filled < motion.extents[depth] else inside
        return max(inside - (inside - stay) * choices / distinct, 0.0) if distinct else inside

    def _share_staying(self, k: int, depth: int, touched: TouchedLines) -> float:
        """Return the share of a reference's lines that stay while lines, also of this reference, are touched."""
        if touched.fits(self.cache):
            return 1.0
        if not (sets := self.cache.sets):
            return 0.0
        lines, loads = self.distances.loads(self.tree.arrays[k], depth, touched, sets)
        return chance_to_stay(lines, loads, self.cache.lines // sets)

    def fetches(self, array: str | None = None) -> Iterator[Fetch]:
        """Yield the fetches of the lines of an array. If ``array`` is None, yield those of all arrays."""
        for name, references in self.tree.by_array(self.tree.loops[0].references).items():
            if array in (None, name) and self.holds_everything:
                yield Fetch(references, 0, self._executions(references, 0))
            elif array in (None, name):
                yield from self._of_iterations(0, references, 0.0, 1.0)

    def _of_loop(self, loop: int, references: tuple[int, ...], least: float, most: float) -> Iterator[Fetch]:
        """Yield a loop's fetches into the sets between the shares ``least`` and ``most``, fullest sets first."""
        depth = self.tree.loops[loop].depth
        for k in {*references} - self._shares.keys():
            self._shares[k] = self._shares_by_depth(k)
        shares = {k: min(self._shares[k][depth], most) for k in references}
        if max(shares.values()) - least < LEAST <= most - least:  # the usual case
            yield from self._of_iterations(loop, references, least, most)
            return
        for share in sorted({*shares.values(), most}):
            if share - least < LEAST:
                continue
            kept = tuple(k for k in references if shares[k] >= share)
            if kept:
                yield Fetch(kept, depth, (share - least) * self._executions(kept, depth))
            if len(kept) < len(references):
                yield from self._of_iterations(loop, tuple(k for k in references if shares[k] < share), least, share)
            least = share

    def _of_iterations(self, loop: int, references: tuple[int, ...], least: float, most: float) -> Iterator[Fetch]:
        """Yield the fetches of a loop in which no line survives an iteration."""
        depth, clusters = self.tree.loops[loop].depth + 1, self._clusters(loop, references)
        for cluster in clusters:
            members = references
            if len(clusters) > 1:
                below = reduce(or_, map(self.tree.below, cluster))
                members = tuple([k for k in references if k in below])
            if members and len(cluster) == 1 and cluster[0] >= 0:
                yield from self._of_loop(cluster[0], members, least, most)
            elif members:
                yield Fetch(members, depth, (most - least) * self._executions(members, depth))

    def _clusters(self, loop: int, references: tuple[int, ...]) -> list[list[int]]:
        """Return a loop's children in clusters. The lines of an array stay in the cache within a cluster."""
        tree_loop = self.tree.loops[loop]
        clusters = [[tree_loop.children[0]]]
        below = self.tree.below(tree_loop.children[0])  # the last cluster
        for child in tree_loop.children[1:]:
            together = below | self.tree.below(child)
            user = next((k for k in references if k in together), None)
            if user is not None and self._stays(user, tree_loop.depth + 1, together):
                clusters[-1].append(child)
                below = together
            else:
                clusters.append([child])
                below = self.tree.below(child)
        return clusters

    def _stays(self, k: int, depth: int, references: frozenset[int]) -> bool:
        return self._share_staying(k, depth, self.footprints.of(references, depth)) >= HALF

    def _executions(self, references: tuple[int, ...], depth: int) -> float:
        return max([self.footprints.motions[k].iterations[depth] for k in references])


Lines = float | NDArray[np.float64]


class MovedLines(NamedTuple):
    """Lines between a cache and the memory behind it, over all launches. A line may be both loaded and stored."""

    fetched: Lines  # lines that enter the cache, for loads and stores: ``streams + jumps``
    loads: Lines  # fetched lines from which a load reads before they are evicted
    stores: Lines  # fetched lines to which a store writes before they are evicted; they are written back
    streams: Lines  # fetched lines that follow the line which the same reference fetched before
    jumps: Lines  # fetched lines that do not: the first of each run
    stored_jumps: Lines  # lines of ``stores`` that do not follow the line before


NO_LINES = MovedLines(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True)
class TrafficPlan:
    """A kernel's references in one order, with counts for all sizes."""

    launches: NamedCounts
    exact: bool
    _latest: "dict[tuple[object, ...], list[TrafficAt]]" = field(default_factory=dict, compare=False, repr=False)

    def at_arrays(self, sizes: Mapping[str, ArrayLike], line: int) -> "list[TrafficAt]":
        """Return the traffic at each of the sizes. The last result is cached."""
        arrays = {name: np.asarray(values) for name, values in sizes.items()}
        key = (line, *[(name, values.shape, values.tobytes()) for name, values in sorted(arrays.items())])
        if key not in self._latest:
            every = self._launches_at(arrays)
            at = [TrafficAt([Footprints(launch, line) for launch in launches]) for launches in every]
            self._latest.clear()
            self._latest[key] = at
        return self._latest[key]

    def _launches_at(self, arrays: Mapping[str, NDArray[Any]]) -> Iterator[Sequence[LaunchReferences[float]]]:
        shape = np.broadcast_shapes(*(values.shape for values in arrays.values()))
        if not shape:
            yield self.launches.at({name: values.item() for name, values in arrays.items()})
            return
        columns = [np.broadcast_to(count.evaluate(arrays), shape).ravel() for count in self.launches.counts]
        yield from (self.launches.with_values(point) for point in zip(*map(np.ndarray.tolist, columns), strict=True))

    @property
    def arrays(self) -> tuple[str, ...]:
        launches: tuple[LaunchReferences[Count], ...] = self.launches.tree
        return tuple(sorted({array for launch in launches for array in launch.tree.arrays}))


@dataclass(frozen=True)
class Traffic:
    """A model of the lines that a cache fetches, not an exact count."""

    plan: TrafficPlan  # the kernel's loops and references, in the order of the device
    cache: Cache
    array: str | None  # None for all arrays

    @property
    def exact(self) -> bool:
        """Whether all addresses and executions are known.

        Otherwise each execution chooses a line of its array, or of its window, at random. If a data-bounded loop goes
        along a row, the lines of the row are touched.
        """
        return self.plan.exact

    def __call__(self, **sizes: int) -> MovedLines:
        """Return the lines at one size. The errors are those of a :class:`~perfmodel.counts.quasipoly.count.Count`."""
        return self.at(sizes).lines(self.cache, self.array)

    def at(self, sizes: Mapping[str, int]) -> "TrafficAt":
        """Return the traffic at one size for all caches with lines of this length. The errors are those of a call."""
        return TrafficAt([Footprints(launch, self.cache.line_bytes) for launch in self.plan.launches.at(sizes)])

    def evaluate(self, sizes: Mapping[str, ArrayLike]) -> MovedLines:
        """Return the lines at arrays of sizes, which are broadcast together. Each number is an array of that shape."""
        shape = np.broadcast_shapes(*map(np.shape, sizes.values()))
        rows = [at.lines(self.cache, self.array) for at in self.plan.at_arrays(sizes, self.cache.line_bytes)]
        return MovedLines(*(column.reshape(shape) for column in np.array(rows, float).reshape(-1, len(NO_LINES)).T))


class TrafficAt(FrozenValue):
    """The traffic of a kernel at one size, for caches of any capacity with lines of one length."""

    def __init__(self, footprints: Sequence[Footprints]) -> None:
        self.footprints = footprints
        self._distances = [*map(ReuseDistances, footprints)]

    @cached_method
    def in_lines(self, line: int) -> "TrafficAt":
        """Return the traffic with lines of another length, such as pages [B]."""
        return TrafficAt([Footprints(each.launch, line, each) for each in self.footprints])

    @cached_method
    def lines(self, cache: Cache, array: str | None = None) -> MovedLines:
        """Return the lines of a cache, of all arrays or of one."""
        launches = [_moved(each.footprints, each.fetches(array)) for each in self._of_cache(cache)]
        return MovedLines(*map(sum, zip(NO_LINES, *launches, strict=True)))

    @cached_method
    def _of_cache(self, cache: Cache) -> list[LayerConditions]:
        return [LayerConditions(each, cache) for each in self._distances]

    def holds(self, cache: Cache) -> bool:
        """Return whether a cache keeps all lines until the end of each launch."""
        return all(conditions.holds_everything for conditions in self._of_cache(cache))


def _moved(footprints: Footprints, fetches: Iterator[Fetch]) -> MovedLines:
    streams = jumps = loads = stores = stored_jumps = 0.0
    for fetch in fetches:
        touched = footprints.array_lines(fetch.references, fetch.depth)
        lines = fetch.times * touched.lines
        jumps_each = [box.lines * footprints.jump_share(box.reference, fetch.depth) for box in touched.boxes]
        jumping = fetch.times * sum(jumps_each)
        streams, jumps = streams + lines - jumping, jumps + jumping
        loaded, stored = _loaded_and_stored(footprints, fetch, lines)
        loads, stores = loads + loaded, stores + stored
        stored_jumps += stored * jumping / lines if lines else 0.0
    return MovedLines(streams + jumps, loads, stores, streams, jumps, stored_jumps)


def _loaded_and_stored(footprints: Footprints, fetch: Fetch, lines: float) -> tuple[float, float]:
    directions = set[bool]().union(*[footprints.references[k].stores for k in fetch.references])
    if len(directions) == 1:
        return (0.0, lines) if True in directions else (lines, 0.0)
    loaded, stored = (footprints.array_lines(fetch.references, fetch.depth, store).lines for store in (False, True))
    return fetch.times * loaded, fetch.times * stored


def traffic_plan(cardinalities: Cardinalities, order: str, lanes: int, parameters: Collection[str]) -> TrafficPlan:
    """Prepare the traffic for an order of the work-items. The plan depends only on the sizes in ``parameters``."""
    program = cardinalities.program
    unrolled = program.dataflow.unrolled
    accesses = (access for statement in program.statements for access in statement.accesses)
    by_array = {access.array: access for access in accesses if access.space != "private"}
    spans = {
        name: span for name, access in by_array.items()
        if (span := _span(cardinalities, access)) is not None and {*span.parameters} <= {*parameters}
    }
    launches = [
        references_of(cardinalities, launch, unrolled, order, lanes, spans) for launch in range(len(program.launches))
    ]
    return TrafficPlan(NamedCounts(tuple(launch for launch, _ in launches)), all(exact for _, exact in launches))


def _span(cardinalities: Cardinalities, access: Access) -> Count | None:
    if access.shape is None or not all(extent.is_bounded() for extent in access.shape):
        return None  # a flattened array that was split into axes has an unknown slowest extent
    number = Count.constant(1, "byte")
    for stride, extent in zip(access.strides, access.shape, strict=True):
        longest = cardinalities.wrap(cardinalities.size(extent), granularity="byte") + Count.constant(-1, "byte")
        number = number + Count(stride, granularity="byte").times(longest)
    return Fraction(access.bits, 8) * number
