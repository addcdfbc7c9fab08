"""The footprints of a launch's loops at given sizes: the lines that their iterations touch, in caches of any size."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, gcd, inf, prod

from perfmodel.counts.traffic.boxes import Box, Dims, Patch, box_of, lines_of_run
from perfmodel.counts.traffic.plan import LaunchPlan
from perfmodel.lazy import cached_property

Some = tuple[int, ...]  #: numbers of references, rising
ROUNDING = 1 + 1e-9  # a sum of parts exceeds the whole by less


@dataclass(frozen=True)
class Cache:
    """A cache that replaces the line least recently used: its lines, the bytes of one, and its sets.

    ``sets`` is 0 where every line may be anywhere.
    """

    lines: int
    line_bytes: int
    sets: int


class Patches:
    """Boxes of one array, each with one of the references in it, and the lines of all; they do not change."""

    __slots__ = ("_crowds", "boxes", "lines")

    def __init__(self, boxes: Sequence[tuple[int, Patch]]) -> None:
        self.boxes = boxes
        self.lines: float = sum([patch.lines for _, patch in boxes])
        self._crowds: dict[int, int] = {}

    def crowd(self, sets: int) -> int:
        """Return the most lines that a set of a cache receives."""
        found = self._crowds.get(sets)
        if found is None:
            found = self._crowds[sets] = sum([ceil(patch.load(sets)) for _, patch in self.boxes])
        return found

    def part(self, factor: float) -> Patches:
        """Return a part of the lines."""
        return Patches([(k, patch.part(factor)) for k, patch in self.boxes])


class Footprint:
    """What is touched, by array; it does not change."""

    __slots__ = ("_half", "by_array")

    def __init__(self, by_array: Mapping[str, Patches]) -> None:
        self.by_array = by_array
        self._half: Footprint | None = None

    @property
    def lines(self) -> float:
        """Lines of all arrays."""
        return sum(patches.lines for patches in self.by_array.values())

    @property
    def half(self) -> Footprint:
        """Half of what is touched of each array."""
        if self._half is None:
            self._half = Footprint({array: patches.part(0.5) for array, patches in self.by_array.items()})
        return self._half

    def crowd(self, sets: int) -> int:
        """Return the most lines that a set of a cache receives."""
        return sum([patches.crowd(sets) for patches in self.by_array.values()])


class Footprints:
    """What the loops of a launch touch at given sizes.

    Parameters
    ----------
    plan : LaunchPlan
        The loops and references.
    values : sequence of number
        The values of the plan's counts.
    line : int
        Bytes of a line.
    """

    def __init__(self, plan: LaunchPlan, values: Sequence[float], line: int) -> None:
        self.plan, self.values, self.line = plan, values, line
        self.steps: list[list[int] | None] = []
        self.extents: list[list[float]] = []
        self.grids: list[list[int]] = []
        self._moves: list[list[bool]] = []
        for one in plan.references:
            numbers = [values[k] for k in one.iterations]
            extents = [inside / outside if outside else 0.0 for outside, inside in pairwise(numbers)]
            steps = None if one.steps is None else [int(values[k]) for k in one.steps]
            self.extents.append(extents)
            self.steps.append(steps)
            self.grids.append(self._grids(extents, steps or ()))
            self._moves.append(_moves(extents, steps) if one.plain else [True] * len(extents))
        self._patches: dict[tuple[Some, int, bool | None], Patches] = {}
        self._of: dict[tuple[frozenset[int], int], Footprint] = {}
        self._distances: dict[int, set[int]] = {}
        self._boxes_of: dict[tuple[int, int], tuple[Dims, int]] = {}

    def _grids(self, extents: Sequence[float], steps: Sequence[int]) -> list[int]:
        """Return for each depth what divides the distances between the places of the box of the loops inwards."""
        found = [self.line] * (len(extents) + 1)
        for k, (extent, step) in enumerate(zip(extents, steps, strict=False)):
            found[k + 1] = gcd(found[k], step) if extent > 1 and step else found[k]
        return found

    @cached_property
    def most(self) -> float:
        """Lines of all arrays, which no footprint exceeds; infinite where the shape of one is not known."""
        spans = {one.array: one.span for one in self.plan.references}
        lines = (inf if span is None else -(-int(self.values[span]) // self.line) for span in spans.values())
        return ROUNDING * sum(lines)

    @cached_property
    def jumps(self) -> tuple[float, ...]:
        """Of each reference the share of its lines that are not next to the line before: the first of each run."""
        return tuple(map(self._jumps, range(len(self.plan.references))))

    def _jumps(self, k: int) -> float:
        """Return the share of one; a run goes on as long as each loop continues where the loops inside of it end."""
        steps, line, run = self.steps[k], self.line, float(self.plan.references[k].size)
        if steps is None:
            return 1.0
        for step, extent in zip(reversed(steps), reversed(self.extents[k]), strict=True):
            if step and extent > 1:
                if abs(step) > max(run, line):
                    return min(1.0, line / run)
                run = max(run, abs(step) * extent)
        return 0.0

    def of_loop(self, node: int, whole: bool) -> Footprint:
        """Return what is touched in the whole of a loop, or in one of its iterations."""
        loop = self.plan.loops[node]
        return self.of(loop.inside, loop.depth + (not whole))

    def of(self, some: frozenset[int], depth: int) -> Footprint:
        """Return what references touch in all loops from a depth inwards."""
        key = some, depth
        found = self._of.get(key)
        if found is None:
            by_array = self.plan.by_array(some)
            found = self._of[key] = Footprint({
                array: self.patches(self._usual(held, depth), depth) for array, held in by_array.items()
            })
        return found

    def _usual(self, some: Some, depth: int) -> Some:
        """Return the references of an array that usual iterations of the loops outside of a depth execute.

        Others, as those at a border, are in less than half as many iterations as the array's most frequent one.
        """
        times = [self.values[self.plan.references[k].iterations[depth]] for k in some]
        return tuple(k for k, number in zip(some, times, strict=True) if 2 * number >= max(times))

    def lines(self, some: Some, depth: int, store: bool | None = None) -> float:
        """Return the lines of an array that references touch; with ``store`` only loads, or only stores, count."""
        return self.patches(some, depth, store).lines

    def patches(self, some: Some, depth: int, store: bool | None = None) -> Patches:
        """Return the same as boxes."""
        key = some, depth, store
        found = self._patches.get(key)
        if found is None:
            if any(self._moves[k][depth:depth + 1] != [False] for k in some):
                found = self._limited(Patches(self._boxes(some, depth, store)), depth)
            else:  # the outermost loop moves none of them
                found = self.patches(some, depth + 1, store)
            self._patches[key] = found
        return found

    def _boxes(self, some: Some, depth: int, store: bool | None) -> Sequence[tuple[int, Patch]]:
        """Return the boxes of references of one array; those of equal steps are one."""
        groups: dict[tuple[Dims, int], tuple[list[int], list[int]]] = {}
        found: list[tuple[int, Patch]] = []
        for k in some:
            one = self.plan.references[k]
            if store is not None and store not in one.stores:
                continue
            if one.steps is None:
                number = prod(self.extents[k][depth:])
                found.append((k, Patch(Box(number, 0, inf), number)))
                continue
            dims, shift = self._box(k, depth)
            starts, members = groups.setdefault((dims, one.size), ([], []))
            members.append(k)
            starts += [
                int(self.values[start]) + shift
                for start, stored in zip(one.starts, one.stores, strict=True) if store in (None, stored)
            ]
        for (dims, size), (starts, members) in groups.items():
            grid = gcd(*[self.grids[k][depth] for k in members])
            box = box_of(dims, tuple(sorted(set(starts))), size, self.line, grid)
            found.append((members[0], Patch(box, box.lines)))
        return found

    def _box(self, k: int, depth: int) -> tuple[Dims, int]:
        """Return the box of a reference, and how far from its start it begins."""
        key = k, depth
        if key not in self._boxes_of:
            steps, values = self.steps[k] or (), self.values
            shift, dims = 0, []
            for level, outside, inside in self.plan.references[k].inner[depth]:
                step, before, after = steps[level], values[outside], values[inside]
                if step and after > before > 0:
                    extent = after / before
                    shift += int(min(step, 0) * (extent - 1))
                    dims.append((abs(step), extent))
            dims.sort()
            self._boxes_of[key] = tuple(dims), shift
        return self._boxes_of[key]

    def extent(self, k: int, depth: int, level: int) -> float:
        """Return the extent of a loop among those of a reference from a depth inwards.

        Where a guard cuts the last group off, the lanes of a group are as many as in a whole one, and the groups fewer.
        """
        values = self.values
        for loop, outside, inside in self.plan.references[k].inner[depth]:
            if loop == level and values[outside]:
                return values[inside] / values[outside]
        return self.extents[k][level]

    def distances(self, k: int) -> Collection[int]:
        """Return the distances to a reference's starts from those of all that move alike in its loops, in bytes.

        Guards make several references of them. Less than a line is none.
        """
        if k not in self._distances:
            own, all_starts = self.plan.references[k], set[int]()
            for one, steps in zip(self.plan.references, self.steps, strict=True):
                if (one.array, one.nodes, steps) == (own.array, own.nodes, self.steps[k]):
                    all_starts.update(int(self.values[start]) for start in one.starts)
            apart = (int(self.values[start]) - other for start in own.starts for other in all_starts)
            self._distances[k] = {0, *(distance for distance in apart if abs(distance) >= self.line)}
        return self._distances[k]

    def _limited(self, found: Patches, depth: int) -> Patches:
        """Return boxes of one array, together no more than what is between their ends, nor than the array."""
        boxes = found.boxes
        if not boxes:
            return found
        low, high = min([patch.box.low for _, patch in boxes]), max([patch.box.high for _, patch in boxes])
        most = inf
        if high < inf:
            most = lines_of_run(high - low, self.line, gcd(*[self.grids[k][depth] for k, _ in boxes]), int(low))
        span = self.plan.references[boxes[0][0]].span
        if span is not None:
            most = min(most, -(-int(self.values[span]) // self.line))
        return found if found.lines <= most else found.part(most / found.lines)


def _moves(extents: Sequence[float], steps: Sequence[int] | None) -> list[bool]:
    """Return of each loop whether it moves an address."""
    if steps is None:  # data decide
        return [extent != 1 for extent in extents]
    return [bool(step) and extent > 1 for step, extent in zip(steps, extents, strict=True)]


def joined(parts: Sequence[Footprint]) -> Footprint:
    """Return footprints together; of an array that is in several the largest counts."""
    result = dict(parts[0].by_array)
    for part in parts[1:]:
        for array, found in part.by_array.items():
            if array not in result or result[array].lines < found.lines:
                result[array] = found
    return Footprint(result)
