"""Which loops of a nest a GPU's compiler unrolls completely, so that indices inside are constants.

Input: the statements of a nest and the loops around them. Output: the unrolled loops, innermost first, with their trip
counts. An unrolled loop indexes private arrays by constants, so that they can stay in registers.

The compiler starts with the innermost loop and stops at the first that it keeps. A loop of varying trips is unrolled in
steps that divide all its trip counts, with a test between any two. The rules follow from times of tiled contractions
on a TITAN V (docs/lab/real-gpus.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import islpy as isl

from perfmodel.counts.nests.nest import IN, OUT, PARAM, SET
from perfmodel.counts.nests.nests import Surroundings, bounds, copies_of, domains_of, without, written_out
from perfmodel.counts.program.program import Domain, Statement

WRITTEN = 2**15
"""The most operations and accesses of an unrolled loop: beyond it a compiler keeps even loops with small bodies."""
GUARDED = 8
"""The most iterations, or steps, of an unrolled loop of varying trips, each behind a test (LLVM's default)."""


@dataclass(frozen=True)
class LoopTrips:
    """All trip counts of a loop that occur.

    Empty if nothing bounds them, or if they vary up to more than a compiler unrolls.
    """

    numbers: frozenset[int]
    by_group: bool = False  # whether the number depends on the work-group

    @property
    def most(self) -> int:
        return max(self.numbers, default=0)

    @property
    def varying(self) -> bool:
        return len(self.numbers) > 1

    @property
    def long(self) -> bool:
        return self.varying and self.most > GUARDED

    @property
    def steps(self) -> int:
        """Steps of the greatest power of two that divides all trip counts."""
        common = math.gcd(*self.numbers)
        return self.most // (common & -common)


def written_loops(around: Surroundings, statements: Sequence[Statement]) -> dict[str, LoopTrips]:
    """Return the loops of a nest that a compiler unrolls, innermost first.

    The code stays short. No loop of varying trips is unrolled around a long one of varying trips, and no long one
    around statements of which the code has several copies.
    """
    written: dict[str, LoopTrips] = {}
    loops = {*around.outer, *around.inner}
    copies = [math.prod(copies_of(statement.domain, loops).values()) for statement in statements]
    code = sum(
        number * max(1, sum(operation.amount for operation in statement.operations) + len(statement.accesses))
        for number, statement in zip(copies, statements, strict=True)
    )
    for k in reversed(range(len(around.inner))):
        loop, inside = around.inner[k], {*around.inner[k + 1:]}
        trips = _trips(loop, inside, loops, statements)
        code *= trips.most
        if not trips.numbers or code > WRITTEN or (trips.varying and any(other.long for other in written.values())):
            break
        if trips.long and (max(copies) > 1 or _stays(trips, not inside, statements)):
            break
        written[loop] = trips
    return written


def _stays(trips: LoopTrips, innermost: bool, statements: Sequence[Statement]) -> bool:
    """Return whether the compiler keeps a long loop of varying trips.

    It has too many steps, or edges of the grid cut the lanes too, or a call that clears memory replaces it.
    """
    clears = innermost and all(
        not statement.operations and all((a.space, a.direction) == ("private", "store") for a in statement.accesses)
        for statement in statements
    )
    edges = trips.by_group and any(_edge_lanes(statement.domain) for statement in statements)
    return trips.steps > GUARDED or clears or edges


def _trips(loop: str, inside: set[str], loops: set[str], statements: Sequence[Statement]) -> LoopTrips:
    found = [
        _trips_of(without(domain, (inside | set(written_out(domain, loops))) - {loop}), loop)
        for domain in domains_of(statements) if loop in domain.names
    ]  # fmt: skip
    if not all(trips.numbers for trips in found):
        return LoopTrips(frozenset())
    return LoopTrips(frozenset().union(*(trips.numbers for trips in found)), any(trips.by_group for trips in found))


def _trips_of(domain: Domain, loop: str) -> LoopTrips:
    points, position = domain.points, domain.names.index(loop)
    low, high = bounds(points, position)
    if low is None or high is None:
        return LoopTrips(frozenset())
    most = high - low + 1
    if takes_each(points, position, low, high):
        return LoopTrips(frozenset({most}))
    if most > WRITTEN:  # isl would list all of them
        return LoopTrips(frozenset())
    inames = zip(domain.names, domain.axes, strict=True)
    by_groups = without(domain, {name for name, axis in inames if name != loop and not axis.startswith("g")})
    by_group = _greatest(by_groups.points, by_groups.names.index(loop)) != {high}
    if _greatest(points.neg(), position) != {-low}:
        return LoopTrips(frozenset({1, most}), by_group)
    return LoopTrips(frozenset(end - low + 1 for end in _greatest(points, position)), by_group)


def takes_each(points: isl.Set, position: int, low: int | None, high: int | None) -> bool:
    """Return whether a dimension has each value from a least to a greatest one, for all values of the others."""
    line = points.project_out(SET, position, 1).insert_dims(SET, position, 1)
    if low is not None:
        line = line.lower_bound_val(SET, position, isl.Val(low))
    if high is not None:
        line = line.upper_bound_val(SET, position, isl.Val(high))
    return bool(line.is_subset(points))


def _greatest(points: isl.Set, position: int) -> set[int]:
    line = isl.Map.from_domain(points).add_dims(OUT, 1).equate(IN, position, OUT, 0).project_out(IN, position, 1)
    ends = line.lexmax().range()
    found: list[isl.Point] = []
    ends.project_out(PARAM, 0, ends.dim(PARAM)).foreach_point(found.append)
    return {point.get_coordinate_val(SET, 0).to_python() for point in found}


def _edge_lanes(domain: Domain) -> bool:
    """Return whether some groups leave lanes idle that work in others."""
    lanes = without(domain, {name for name, axis in zip(domain.names, domain.axes, strict=True) if not axis})
    places = [position for position, axis in enumerate(lanes.axes) if axis.startswith("l")]
    return not all(takes_each(lanes.points, place, *bounds(lanes.points, place)) for place in places)
