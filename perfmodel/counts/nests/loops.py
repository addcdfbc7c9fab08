"""The loops around the statements of a nest. A *barrier interval* is a part of the schedule without barriers."""

import math
from bisect import bisect_right
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import islpy as isl

from perfmodel.counts.nests.addresses import IN, OUT, PARAM, SET
from perfmodel.counts.points.factors import without_dimensions
from perfmodel.counts.program import program
from perfmodel.counts.program.program import Domain, Node, NodePath

WRITTEN = 2**14
"""The most operations and accesses of an unrolled loop, without private ones (LLVM's limit for a requested unrolling).

NVIDIA's compiler keeps a loop around 16,425 of them, and unrolls one around 14,400 (docs/lab/real-gpus.md).
"""
GUARDED = 8  #: The most iterations, or steps, of an unrolled loop of varying trips, each behind a test (LLVM's default)


@dataclass(frozen=True)
class LoopTable:
    """The inames of the sequential loops around a schedule position, outermost first, and its barrier interval."""

    launch: int  # position of the launch in the program
    interval: int  # number of the barrier interval in the launch
    outer: tuple[str, ...] = ()  # loops around the interval, which contain barriers
    inner: tuple[str, ...] = ()  # loops inside the interval, without unrolled ones
    loop: NodePath = ()  # the position of the innermost of these loops, or of the interval
    repeated: tuple[str, ...] = ()  # unrolled loops around an inner loop: the code has a copy of it for each value

    @property
    def names(self) -> tuple[str, ...]:
        return (*self.outer, *self.inner)


class Intervals:
    """The barrier intervals of one launch."""

    def __init__(self, launch: int, schedule: tuple[Node, ...], unrolled: Container[str]) -> None:
        self.launch, self.unrolled, self.ends = launch, unrolled, [*_ends(schedule, ())]

    def loops(self, position: NodePath) -> LoopTable:
        """Return the loops around a schedule position. The position may be before a node."""
        table, unrolled = LoopTable(self.launch, bisect_right(self.ends, position)), tuple[str, ...]()
        for depth, name in enumerate(map(str, position[1::2])):
            inside = position[:2 * depth + 2]
            if inside[:-1] in self.ends:  # the loop contains barriers
                table = replace(table, outer=(*table.outer, name), loop=inside)
            elif name in self.unrolled:
                unrolled = (*unrolled, name)
            else:
                table = replace(table, inner=(*table.inner, name), loop=inside, repeated=unrolled)
        return table


def _ends(nodes: tuple[Node, ...], parent: NodePath) -> Iterator[NodePath]:
    """Yield the positions where an interval ends: barriers, and both ends of loops that contain barriers."""
    for k, node in enumerate(nodes):
        if isinstance(node, program.Wait):
            yield (*parent, 2 * k)
        elif isinstance(node, program.Loop) and program.has_barrier(node):
            yield (*parent, 2 * k)
            yield from _ends(node.body, (*parent, 2 * k, node.iname))
            yield (*parent, 2 * k + 1)


def written_out(domain: Domain, loops: Container[str]) -> tuple[str, ...]:
    """Return the inames of loops that the generated code unrolls."""
    inames = zip(domain.names, domain.axes, strict=True)
    return tuple(name for name, axis in inames if not axis and name not in loops)


def copies_of(domain: Domain, loops: Container[str]) -> dict[str, int]:
    """Return the number of values of each iname whose loop is unrolled."""
    return {name: values_of(domain, name) for name in written_out(domain, loops)}


def values_of(domain: Domain, name: str) -> int:
    """Return how many values an iname takes. If nothing bounds the iname, return 1."""
    low, high = bounds(domain.points, domain.names.index(name))
    return 1 if low is None or high is None else high - low + 1


def bounds(points: isl.Set, position: int) -> tuple[int | None, int | None]:
    """Return the least and the greatest value of a dimension of a set. A bound that does not exist is None."""
    low, high = points.dim_min_val(position), points.dim_max_val(position)
    return (low.to_python() if low.is_int() else None), (high.to_python() if high.is_int() else None)


def without(domain: Domain, names: Container[str]) -> Domain:
    points = without_dimensions(domain.points, (k for k, name in enumerate(domain.names) if name in names))
    axes = tuple(axis for axis, name in zip(domain.axes, domain.names, strict=True) if name not in names)
    means = tuple((name, mean) for name, mean in domain.means if name not in names)
    trips = math.prod((mean for _, mean in means), start=Fraction(1)) if means else None
    trips = trips if domain.means else domain.trips
    return replace(domain, points=points.coalesce(), axes=axes, trips=trips, means=means)


def only_in(domain: Domain, loops: Container[str]) -> Domain:
    """Return the instances of a domain without the inames of sequential loops other than ``loops``."""
    by_data = (name for name, _ in domain.means if name not in loops)
    return without(domain, {*written_out(domain, loops), *by_data})


def union_of(domains: Sequence[Domain]) -> Domain:
    """Return the union of the domains with the most inames. The largest probability of these domains counts."""
    whole = max(domains, key=lambda domain: (len(domain.names), domain.factor))
    for domain in domains:
        if domain.names == whole.names and domain is not whole and not domain.points.is_subset(whole.points):
            exact = domain.exact and whole.exact
            whole = replace(whole, points=whole.points.union(domain.points).coalesce(), exact=exact)
    return whole


def line_of(points: isl.Set, position: int) -> isl.Set:
    return points.project_out(SET, position + 1, points.dim(SET) - position - 1).project_out(SET, 0, position)


@dataclass(frozen=True)
class LoopTrips:
    """All trip counts of a loop, or nothing if the trips have no bound or vary beyond :data:`WRITTEN`."""

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
        """The most steps of the loop. A step has the greatest power of two of trips that divides all trip counts."""
        common = math.gcd(*self.numbers)
        return self.most // (common & -common)


def trips_of(loop: str, domains: Iterable[Domain]) -> LoopTrips:
    """Return the trip counts of a loop. The domains have no inames of loops inside this loop."""
    trips = [_trips_of(domain, loop) for domain in domains if loop in domain.names]
    if not all(each.numbers for each in trips):
        return LoopTrips(frozenset())
    return LoopTrips(frozenset().union(*(each.numbers for each in trips)), any(each.by_group for each in trips))


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
    """Return whether a dimension has each value from ``low`` to ``high``, for all values of the other dimensions."""
    line = points.project_out(SET, position, 1).insert_dims(SET, position, 1)
    if low is not None:
        line = line.lower_bound_val(SET, position, isl.Val(low))
    if high is not None:
        line = line.upper_bound_val(SET, position, isl.Val(high))
    return bool(line.is_subset(points))


def _greatest(points: isl.Set, position: int) -> set[int]:
    line = isl.Map.from_domain(points).add_dims(OUT, 1).equate(IN, position, OUT, 0).project_out(IN, position, 1)
    ends = line.lexmax().range()
    greatest: list[isl.Point] = []
    ends.project_out(PARAM, 0, ends.dim(PARAM)).foreach_point(greatest.append)
    return {point.get_coordinate_val(SET, 0).to_python() for point in greatest}
