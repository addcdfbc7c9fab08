"""The lines that the loops of a launch touch, at given sizes and for a given length of lines.

The *depth* of a loop is the number of loops around it. The *footprint* at a depth is the lines that all loops from
there inwards touch, as boxes for each array. Row sums of 128 rows of 64 float32, in groups of 64 rows::

    depth 0   the launch         a: 128 rows of 256 bytes, 512 lines     out: 8 lines
    depth 1   a group            a: 64 rows, 256 lines                   out: 4 lines
    depth 2   a work-item        a: a row, 4 lines                       out: a line
    depth 3   an iteration of j  a: a line

References are given by their numbers in the launch, in ascending tuples. Footprints are cached by (references, depth),
because the layer conditions of all caches need the same footprints.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property, reduce
from itertools import accumulate, pairwise
from math import ceil, expm1, gcd, inf, log1p, prod
from operator import mul
from typing import NamedTuple

from perfmodel.counts.traffic.boxes import Box, BoxLines, Sweep, box_of, lines_of_run
from perfmodel.counts.traffic.references import CoupledLoop, LaunchReferences, Reference
from perfmodel.values import FrozenValue, cached_method

ROUNDING = 1 + 1e-9  # rounding makes a sum of parts exceed the whole by less


class Cache(NamedTuple):
    """A cache that replaces the least recently used line."""

    lines: int
    line_bytes: int
    sets: int  # 0 if fully associative

    @property
    def bytes(self) -> int:
        return self.lines * self.line_bytes


class ArrayLines:
    """The boxes of one array, and their lines. The value is immutable."""

    __slots__ = ("_most_in_a_set", "boxes", "lines")

    def __init__(self, boxes: Sequence[BoxLines]) -> None:
        self.boxes = boxes
        self.lines: float = sum([box.lines for box in boxes])
        self._most_in_a_set: dict[int, int] = {}

    def most_in_a_set(self, sets: int) -> int:
        """Return the number of lines that the fullest set of a cache receives."""
        most = self._most_in_a_set.get(sets)
        if most is None:
            most = self._most_in_a_set[sets] = sum([ceil(box.lines_per_set(sets)) for box in self.boxes])
        return most

    def part(self, factor: float) -> "ArrayLines":
        return ArrayLines([box.part(factor) for box in self.boxes])


class TouchedLines:
    """The touched lines of each array. The value is immutable."""

    def __init__(self, by_array: Mapping[str, ArrayLines]) -> None:
        self.by_array = by_array
        self.lines = sum([array.lines for array in by_array.values()])

    @cached_property
    def half(self) -> "TouchedLines":
        return TouchedLines({name: array.part(0.5) for name, array in self.by_array.items()})

    def fits(self, cache: Cache) -> bool:
        """Return whether no set of a cache receives more lines than it has ways."""
        sets = cache.sets
        if not sets or self.lines > cache.lines + 1:  # then some set has too many
            return self.lines <= cache.lines
        return sum([array.most_in_a_set(sets) for array in self.by_array.values()]) <= cache.lines // sets


Sweeps = tuple[tuple[Sweep, ...], int]
"""The loops that move an address, by ascending steps, and the lowest distance from the start that they reach."""
NO_SWEEPS: Sweeps = (), 0


class ReferenceMotion:
    """A reference at given sizes: the extents of its loops, and the bytes by which each loop moves the address."""

    __slots__ = ("extents", "grids", "iterations", "moving", "reference", "row_lines", "starts", "steps", "sweeps")

    def __init__(self, reference: Reference[float], line: int) -> None:
        self.reference = reference
        iterations = list(reference.iterations)
        for depth, _ in reference.blocks:  # an iname may have fewer values than a block
            iterations[depth + 1] = max(iterations[depth + 1], iterations[depth])
        self.iterations = iterations
        self.extents = [inside / outside if outside else 0.0 for outside, inside in pairwise(iterations)]
        self.row_lines = 1.0  # lines side by side that each choice of data touches
        if self.at_random and reference.rows:
            self._join_rows(line)
        self.starts = [int(start) for start in reference.starts]
        # how far the address moves with each loop [B]; None where data decide
        self.steps = None if reference.steps is None else [int(step) for step in reference.steps]
        # for each depth a divisor of all distances [B] in the box of the loops from there inwards; 0 for no distance
        self.grids = [0] * (len(self.extents) + 1)
        # for each depth the outermost loop from there inwards that moves the address, or the body inside all loops
        self.moving = [*range(len(self.grids))]
        self.sweeps: list[Sweeps] = []  # for each depth, the loops from there inwards that move the address
        if self.steps is not None:
            self._find_sweeps(self.steps)
        if reference.coupled is None:
            for k in reversed(range(len(self.extents))):
                if self.extents[k] == 1 if self.steps is None else self.sweeps[k] is self.sweeps[k + 1]:
                    self.moving[k] = self.moving[k + 1]

    def _find_sweeps(self, steps: Sequence[int]) -> None:
        for k, (extent, step) in enumerate(zip(self.extents, steps, strict=True)):
            self.grids[k + 1] = gcd(self.grids[k], step) if extent > 1 else self.grids[k]
        if self.reference.coupled is not None:
            every = ([(steps[k.depth], self._coupled_extent(k)) for k in loops] for loops in self.reference.coupled)
            self.sweeps = [reduce(_with_sweep, loops, NO_SWEEPS) for loops in every]
        else:
            outwards = [*zip(steps, self.extents, strict=True)][::-1]
            self.sweeps = [*accumulate(outwards, _with_sweep, initial=NO_SWEEPS)][::-1]

    def _join_rows(self, line: int) -> None:
        """Count the lines of a row, not its cells, as the choices of data: they are fetched together."""
        run = float(self.reference.size)
        for depth in reversed(range(len(self.extents))):
            step, extent = self.reference.rows[depth], self.extents[depth]
            if step is None or extent <= 1 or abs(step) > max(run, line):
                continue
            run += abs(step) * (extent - 1)
            lines = 1 + (run - self.reference.size) / line  # a row starts anywhere in a line
            self.extents[depth], self.row_lines = lines / self.row_lines, lines
        self.iterations[1:] = [self.iterations[0] * inside for inside in accumulate(self.extents, mul)]

    @property
    def at_random(self) -> bool:
        """Return whether data choose each cell."""
        return self.reference.window is not None

    def extent(self, depth: int, level: int) -> float:
        """Return the extent of a loop within the loops from a depth inwards. Lanes that a guard excludes count too."""
        for loop in self.reference.coupled[depth] if self.reference.coupled is not None else ():
            if loop.depth == level and loop.outside:
                return self._coupled_extent(loop)
        return self.extents[level]

    def _coupled_extent(self, loop: CoupledLoop[float]) -> float:
        """Return the extent of a coupled loop. If nothing is executed outside of the loop, the extent is 0."""
        extent = loop.inside / loop.outside if loop.outside else 0.0
        for around, inside in self.reference.blocks:
            if loop.depth == around:
                extent = max(extent, 1.0)
            elif loop.depth == inside:
                extent = min(extent, self.extents[inside])
        return extent

    def lines_at_random(self, depth: int, line: int) -> float:
        """Return the lines of data-dependent accesses. In an array of L lines, n accesses touch L (1 - (1 - 1/L)^n)."""
        extents, walked = list(self.extents), self.reference.walked
        if walked is not None and depth <= walked:
            extents[walked] = max(extents[walked] * self.reference.size / line, min(1.0, extents[walked]))
        accesses = prod(extents[depth:])
        if walked is not None:
            return accesses
        lines = self.reach(depth, line)
        return -lines * expm1(accesses * log1p(-1 / lines)) if lines > 1 else min(accesses, 1.0)

    def reach(self, depth: int, line: int) -> float:
        """Return how many lines the data-dependent indices may touch in the loops from a depth inwards."""
        lines, still = self._lines_to_choose(line), self.window_lines(line)
        moving = self.reference.window.moving if self.reference.window else ()
        outside = [extent for extent, moves in zip(self.extents[:depth], moving, strict=False) if moves]
        return still + (lines - still) / max(prod(outside), 1.0)

    def window_lines(self, line: int) -> float:
        """Return how many lines the data-dependent indices of one work-item may touch."""
        window, lines = self.reference.window, self._lines_to_choose(line)
        if window is None or window.width is None:
            return lines
        share = window.width / window.indices if window.indices else window.width * self.reference.size / line / lines
        return max(lines * min(share, 1.0), 1.0)

    def _lines_to_choose(self, line: int) -> float:
        """Return the lines of an array with data-dependent indices. An unknown shape counts as a cell per work-item."""
        if self.reference.span is not None:
            return max(float(-(-self.reference.span // line)), 1.0)
        moving = self.reference.window.moving if self.reference.window else ()
        items = prod([extent for extent, moves in zip(self.extents, moving, strict=True) if moves])
        return max(items * self.reference.size / line, 1.0)

    def jump_share(self, line: int, depth: int) -> float:
        """Return the share of lines that are not adjacent to the line touched before: the first line of each run.

        The innermost loop with a long step ends a run. A long step is longer than a line and than the bytes that the
        loops inside touch. If data-dependent indices lie in a moving window, only the lines of its first position
        count.
        """
        run = float(self.reference.size)
        if self.steps is None:
            jumps = 0.0 if self.reference.window is None else self.window_lines(line) / self.reach(depth, line)
            return jumps / self.row_lines
        for step, extent in zip(reversed(self.steps), reversed(self.extents), strict=True):
            if step and extent > 1:
                if abs(step) > max(run, line):
                    return min(1.0, line / run)
                run = max(run, abs(step) * extent)
        return 0.0


def _with_sweep(sweeps: Sweeps, loop: tuple[int, float]) -> Sweeps:
    """Return sweeps with another loop, given by its step and its extent."""
    step, extent = loop
    if not step or extent <= 1:
        return sweeps
    loops, lowest = sweeps
    return tuple(sorted((*loops, (abs(step), extent)))), lowest + int(step * (extent - 1)) if step < 0 else lowest


class Footprints(FrozenValue):
    """The footprints of a launch's loops at given sizes, in lines of ``line`` bytes."""

    def __init__(self, launch: LaunchReferences[float], line: int, others: "Footprints | None" = None) -> None:
        self.tree, self.references, self.line = launch.tree, launch.references, line
        self.launch, self._others = launch, others  # others: for another length of lines
        self._array_lines: dict[tuple[tuple[int, ...], int, bool | None], ArrayLines] = {}

    @cached_property
    def motions(self) -> list[ReferenceMotion]:
        if self._others is None:
            return [ReferenceMotion(reference, self.line) for reference in self.references]
        return [ReferenceMotion(k.reference, self.line) if k.at_random else k for k in self._others.motions]

    @cached_property
    def most_lines(self) -> float:
        """The lines of all arrays, which bound any footprint. An array of unknown shape has infinitely many."""
        spans = {reference.array: reference.span for reference in self.references}
        return ROUNDING * sum(inf if span is None else -(-int(span) // self.line) for span in spans.values())

    @cached_method
    def jump_share(self, k: int, depth: int) -> float:
        """Return the :meth:`~ReferenceMotion.jump_share` of reference k in the loops from a depth inwards."""
        return self.motions[k].jump_share(self.line, depth)

    def of_loop(self, loop: int, whole: bool) -> TouchedLines:
        """Return the lines that a loop touches, or an iteration of it."""
        tree_loop = self.tree.loops[loop]
        return self.of(tree_loop.references, tree_loop.depth + (not whole))

    @cached_method
    def of(self, references: frozenset[int], depth: int) -> TouchedLines:
        """Return the lines that references touch in the loops from a depth inwards."""
        by_array = self.tree.by_array(references)
        return TouchedLines({
            array: self.array_lines(self._usual(numbers, depth), depth) for array, numbers in by_array.items()
        })

    def _usual(self, references: tuple[int, ...], depth: int) -> tuple[int, ...]:
        """Return an array's references without those at borders, which have less than half as many iterations."""
        if len(references) == 1:
            return references
        iterations = [self.references[k].iterations[depth] for k in references]
        most = max(iterations)
        if 2 * min(iterations) >= most:
            return references
        return tuple([k for k, number in zip(references, iterations, strict=True) if 2 * number >= most])

    def array_lines(self, references: tuple[int, ...], depth: int, store: bool | None = None) -> ArrayLines:
        """Return the lines of an array that references touch. ``store`` selects only stores or only loads."""
        key = references, min([self.motions[k].moving[depth] for k in references]), store  # loops outside move none
        if key not in self._array_lines:
            self._array_lines[key] = self._limited(ArrayLines(self._boxes(*key)), key[1])
        return self._array_lines[key]

    def _boxes(self, references: tuple[int, ...], depth: int, store: bool | None) -> list[BoxLines]:
        """Return the boxes of references to one array. References with equal steps share a box."""
        if len(references) == 1 and store is None and self.references[references[0]].steps is not None:
            return [self._box(references[0], depth)]  # the usual case
        alike: dict[tuple[tuple[Sweep, ...], int], tuple[list[int], list[int]]] = {}
        boxes: list[BoxLines] = []
        for k in references:
            reference = self.references[k]
            if store is not None and store not in reference.stores:
                continue
            if reference.steps is None:
                lines = self.motions[k].lines_at_random(depth, self.line)
                boxes.append(BoxLines(Box(lines, 0, inf), lines, k))
                continue
            sweeps, lowest = self.motions[k].sweeps[depth]
            starts, members = alike.setdefault((sweeps, reference.size), ([], []))
            members.append(k)
            for start, stored in zip(self.motions[k].starts, reference.stores, strict=True):
                if store is None or store == stored:
                    starts.append(start + lowest)
        for (sweeps, size), (starts, members) in alike.items():
            grid = gcd(self.line, *[self.motions[k].grids[depth] for k in members])
            box = box_of(sweeps, tuple(sorted(set(starts))), size, self.line, grid)
            boxes.append(BoxLines(box, box.lines, members[0]))
        return boxes

    def _box(self, k: int, depth: int) -> BoxLines:
        motion = self.motions[k]
        sweeps, lowest = motion.sweeps[depth]
        starts = motion.starts
        moved = (starts[0] + lowest,) if len(starts) == 1 else tuple(sorted({start + lowest for start in starts}))
        box = box_of(sweeps, moved, motion.reference.size, self.line, gcd(self.line, motion.grids[depth]))
        return BoxLines(box, box.lines, k)

    def _limited(self, array: ArrayLines, depth: int) -> ArrayLines:
        """Return the boxes of one array. If they have more lines than their range or the array, only a part counts."""
        boxes = array.boxes
        if not boxes:
            return array
        first = boxes[0].box
        low, high, grid, most = first.low, first.high, self.motions[boxes[0].reference].grids[depth], inf
        if len(boxes) > 1:
            low, high = min([lines.box.low for lines in boxes]), max([lines.box.high for lines in boxes])
            grid = gcd(*[self.motions[lines.reference].grids[depth] for lines in boxes])
        if high < inf:
            most = lines_of_run(high - low, self.line, gcd(self.line, grid), int(low))
        span = self.references[boxes[0].reference].span
        if span is not None:
            most = min(most, -(-int(span) // self.line))
        return array if array.lines <= most else array.part(most / array.lines)

    @cached_method
    def distances(self, k: int) -> set[int]:
        """Return 0, and distances [B] of a line or more between starts of reference k and starts that move alike."""
        reference, steps, starts = self.references[k], self.motions[k].steps, set[int]()
        for alike, motion in zip(self.references, self.motions, strict=True):
            if (alike.array, alike.loops, motion.steps) == (reference.array, reference.loops, steps):
                starts.update(motion.starts)
        differences = (start - other for start in self.motions[k].starts for other in starts)
        return {0, *(distance for distance in differences if abs(distance) >= self.line)}


def joined(parts: Sequence[TouchedLines]) -> TouchedLines:
    """Join touched lines. If several parts touch an array, the largest part counts."""
    by_array = dict(parts[0].by_array)
    for part in parts[1:]:
        for name, array in part.by_array.items():
            if name not in by_array or by_array[name].lines < array.lines:
                by_array[name] = array
    return TouchedLines(by_array)
