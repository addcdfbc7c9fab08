"""The footprints of a launch's loops at given sizes: the lines that their iterations touch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import gcd, inf, prod

from perfmodel.counts.traffic.boxes import Dims, Patch, lines_of_run, patch_of
from perfmodel.counts.traffic.plan import LaunchPlan

Some = tuple[int, ...]  #: numbers of references, rising
Patches = list[tuple[int, Patch]]  #: boxes of one array, each with one of the references in it
Footprint = dict[str, Patches]  #: by array


@dataclass(frozen=True)
class Cache:
    """A cache that replaces the line least recently used: its lines, the bytes of one, and its sets.

    ``sets`` is 0 where every line may be anywhere.
    """

    lines: int
    line_bytes: int
    sets: int


class Footprints:
    """What the loops of a launch touch at given sizes.

    Parameters
    ----------
    plan : LaunchPlan
        The loops and references.
    values : sequence of number
        The values of the plan's counts.
    cache : Cache
        The cache whose lines and sets count.
    """

    def __init__(self, plan: LaunchPlan, values: Sequence[float], cache: Cache) -> None:
        self.plan, self.values, self.cache = plan, values, cache
        self.steps: list[list[int] | None] = []
        self.extents: list[list[float]] = []
        self.grids: list[list[int]] = []
        for one in plan.references:
            numbers = [values[k] for k in one.iterations]
            self.extents.append([inside / outside if outside else 0.0 for outside, inside in pairwise(numbers)])
            self.steps.append(None if one.steps is None else [int(values[k]) for k in one.steps])
            self.grids.append(self._grids(self.extents[-1], self.steps[-1] or ()))
        self._patches: dict[tuple[Some, int, bool | None], Patches] = {}
        self._of: dict[tuple[frozenset[int], int], Footprint] = {}

    def _grids(self, extents: Sequence[float], steps: Sequence[int]) -> list[int]:
        """Return for each depth what divides the distances between the places of the box of the loops inwards."""
        found = [self.cache.line_bytes] * (len(extents) + 1)
        for k, (extent, step) in enumerate(zip(extents, steps, strict=False)):
            found[k + 1] = gcd(found[k], step) if extent > 1 and step else found[k]
        return found

    def of_loop(self, node: int, whole: bool) -> Footprint:
        """Return what is touched in the whole of a loop, or in one of its iterations."""
        loop = self.plan.loops[node]
        return self.of(loop.inside, loop.depth + (not whole))

    def of(self, some: frozenset[int], depth: int) -> Footprint:
        """Return what references touch in all loops from a depth inwards."""
        key = some, depth
        if key not in self._of:
            by_array = self.plan.by_array(some)
            self._of[key] = {array: self.patches(held, depth) for array, held in by_array.items()}
        return self._of[key]

    def lines(self, some: Some, depth: int, store: bool | None = None) -> float:
        """Return the lines of an array that references touch; with ``store`` only loads, or only stores, count."""
        return total(self.patches(some, depth, store))

    def patches(self, some: Some, depth: int, store: bool | None = None) -> Patches:
        """Return the same as boxes."""
        key = some, depth, store
        if key not in self._patches:
            self._patches[key] = self._limited(self._boxes(some, depth, store), depth)
        return self._patches[key]

    def _boxes(self, some: Some, depth: int, store: bool | None) -> Patches:
        """Return the boxes of references of one array; those of equal steps are one."""
        groups: dict[tuple[Dims, int], tuple[set[int], list[int]]] = {}
        found: Patches = []
        for k in some:
            one = self.plan.references[k]
            if store is not None and store not in one.stores:
                continue
            if one.steps is None:
                number = prod(self.extents[k][depth:])
                found.append((k, Patch(number, min(number, self.cache.sets), 0, inf, 1.0, 0, ())))
                continue
            dims, shift = self._box(k, depth)
            starts, members = groups.setdefault((dims, one.size), (set(), []))
            members.append(k)
            starts.update(
                int(self.values[start]) + shift
                for start, stored in zip(one.starts, one.stores, strict=True) if store in (None, stored)
            )
        for (dims, size), (starts, members) in groups.items():
            grid = gcd(*(self.grids[k][depth] for k in members))
            patch = patch_of(dims, sorted(starts), size, self.cache.line_bytes, grid, self.cache.sets)
            found.append((members[0], patch))
        return found

    def _box(self, k: int, depth: int) -> tuple[Dims, int]:
        """Return the box of a reference, and how far from its start it begins."""
        steps, values = self.steps[k] or (), self.values
        shift, dims = 0, []
        for level, outside, inside in self.plan.references[k].inner[depth]:
            step, before, after = steps[level], values[outside], values[inside]
            if step and after > before > 0:
                extent = after / before
                shift += int(min(step, 0) * (extent - 1))
                dims.append((abs(step), extent))
        dims.sort()
        return tuple(dims), shift

    def _limited(self, found: Patches, depth: int) -> Patches:
        """Return boxes of one array, together no more than what is between their ends, nor than the array."""
        if not found:
            return found
        line = self.cache.line_bytes
        low, high = min(patch.low for _, patch in found), max(patch.high for _, patch in found)
        most = inf
        if high < inf:
            most = lines_of_run(high - low, line, gcd(*(self.grids[k][depth] for k, _ in found)), int(low))
        span = self.plan.references[found[0][0]].span
        if span is not None:
            most = min(most, -(-int(self.values[span]) // line))
        number = total(found)
        return found if number <= most else [(k, patch.part(most / number)) for k, patch in found]


def total(found: Iterable[tuple[int, Patch]]) -> float:
    """Return the lines of some boxes."""
    return sum(patch.lines for _, patch in found)


def scaled(footprint: Footprint, factor: float) -> Footprint:
    """Return a part of what is touched."""
    return {array: [(k, patch.part(factor)) for k, patch in found] for array, found in footprint.items()}


def joined(parts: Sequence[Footprint]) -> Footprint:
    """Return footprints together; of an array that is in several the largest counts."""
    result: Footprint = dict(parts[0])
    for part in parts[1:]:
        for array, found in part.items():
            if array not in result or total(result[array]) < total(found):
                result[array] = found
    return result
