"""The number of times that a work-item executes a loop nest, and the values of loops with constant trips."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, cached_property, reduce
from typing import NamedTuple

import islpy as isl

from perfmodel.counts.counters.executions import Cardinalities
from perfmodel.counts.points.cardinality import Cardinality, product
from perfmodel.counts.points.set_counter import BudgetSpentError, limited
from perfmodel.counts.program.program import Domain, Loop, nodes_in
from perfmodel.counts.quasipoly.count import Count

SET, PARAM, IN, OUT = isl.dim_type.set, isl.dim_type.param, isl.dim_type.in_, isl.dim_type.out

LoopNest = tuple[str, ...]  # sequential inames, outermost first
LARGE = (1024, 256, 64, 16, 1)  # lower bounds to try for the sizes at which chains are compared


class Effort(NamedTuple):
    """How many iterations a walk executes. A recurrence over a greater distance is not found.

    ``short`` is the most executions of a body that are walked one by one, in loops of constant trips; ``followed`` is
    the number of iterations of other loops.
    """

    short: int = 256
    followed: int = 3


EFFORTS = (Effort(), Effort(64), Effort(16), Effort(1), Effort(1, 2))  #: Efforts to try, the greatest first
MOST_EXECUTIONS = 20_000  #: Most executions of statements in a walk (seconds); beyond it a smaller effort is tried


@dataclass(frozen=True)
class Span:
    """The values of a loop with constant trips: ``start``, ``start + step``, ..."""

    start: int
    step: int
    trips: int


def iterations(span: Span | None, runs: int, unrolled: bool, effort: Effort = EFFORTS[0]) -> tuple[bool, int]:
    """Return whether a walk executes every iteration of a loop, and how many it executes, each of ``runs`` times."""
    if span is not None and (unrolled or span.trips <= effort.followed or runs * span.trips <= effort.short):
        return True, span.trips
    return False, effort.followed


class Trips:
    """Trip counts of the loop nests of one program, with the granularity ``"chain"``.

    If work-items or outer iterations differ in trips, the largest number counts. The count is exact if one work-item
    makes all trips that any work-item makes. Otherwise the product of each loop's largest trips is an upper bound.
    """

    def __init__(self, cardinalities: Cardinalities) -> None:
        self.cardinalities, self.program = cardinalities, cardinalities.program
        self.sizes = self._sizes()
        loops = nodes_in(self.program.schedule)
        self.around: dict[str, LoopNest] = {node.iname: around for node, around in loops if isinstance(node, Loop)}
        self.count = cache(self._count)
        self.value = cache(self._value)
        self.span = cache(self._span)

    def _sizes(self) -> Mapping[str, int]:
        assumptions = self.program.assumptions
        for least in LARGE:
            large = assumptions
            for index in range(large.dim(PARAM)):
                large = large.lower_bound_val(PARAM, index, isl.Val(least))
            if not large.is_empty():
                break
        else:
            large = assumptions
        point = large.sample_point()
        return {
            large.get_dim_name(PARAM, index): point.get_coordinate_val(PARAM, index).to_python()
            for index in range(large.dim(PARAM))
        }

    def _value(self, nest: LoopNest) -> int | Fraction:
        return self.count(nest)(**self.sizes)

    @cached_property
    def _executing(self) -> isl.Set:
        """The sizes at which something is executed. A kernel may be launched for zero elements."""
        sizes = [statement.domain.points.params() for statement in self.program.statements]
        return reduce(isl.Set.union, dict.fromkeys(sizes)).coalesce().intersect(self.program.assumptions)

    def _span(self, iname: str) -> Span | None:
        """Return a loop's values, or None if they are not the same for all sizes that execute anything.

        An unrolled loop has its copies at all sizes. A test may leave out some of them.
        """
        domains = self._around((iname,))
        if not domains or iname not in domains[0].names:
            return None
        points, other_dims = _union(domains, (iname,), frozenset())
        line = points.project_out(SET, 1, other_dims)
        written_out = iname in self.program.dataflow.unrolled
        line = line.project_out(PARAM, 0, line.dim(PARAM)) if written_out else line.gist_params(self._executing)
        line = line.coalesce()
        if line.involves_dims(PARAM, 0, line.dim(PARAM)):
            return None
        low, high = line.dim_min_val(0), line.dim_max_val(0)
        if not (low.is_int() and high.is_int()):
            return None
        trips = line.count_val().to_python() if written_out else int(self.value((iname,)))
        length = high.to_python() - low.to_python()
        step = length // (trips - 1) if trips > 1 else 1
        return Span(low.to_python(), max(step, 1), trips)

    def _around(self, nest: LoopNest) -> list[Domain]:
        domains = list(dict.fromkeys(statement.domain for statement in self.program.statements))
        inside = [domain for domain in domains if set(nest) <= set(domain.names)]
        if inside:
            return inside
        sites = [
            Domain(site.launch, site.points, site.axes) for site in self.program.barriers
            if set(nest) <= set(site.points.get_var_names(SET))
        ]
        return sites or [domain for domain in domains if domain.trips is not None]

    def _count(self, nest: LoopNest) -> Count:
        domains = self._around(nest) if nest else []
        known = tuple(name for name in nest if domains and name in domains[0].names)
        factor = Fraction(1)
        if domains and len(known) < len(nest):  # statistics give the trips of a data-dependent loop
            factor = domains[0].trips or factor
        if not known:
            return factor * Count.constant(1, "chain")
        points, other_dims = _union(domains, known, frozenset(self.around.get(known[-1], ())))
        alone = points.project_out(SET, len(known), other_dims)
        if _one_runs_all(points, alone, len(known)):
            number = self.cardinalities.size(alone)
        else:
            number = self._most(points, len(known))
        exact = all(domain.exact for domain in domains)
        reasons = [reason for domain in domains if not domain.exact for reason in domain.doubts]
        if not number.exact:
            number, exact = replace(number, exact=True), False
            reasons.append("work-items or iterations make different numbers of trips; the most of each loop counts")
        return self.cardinalities.wrap(number, factor, exact, "chain", reasons)

    def _most(self, points: isl.Set, dims: int) -> Cardinality:
        """Return the most trips along the first dimensions, or an upper bound if the exact number is too much work."""
        with suppress(BudgetSpentError), limited(self.cardinalities.operations):
            return Cardinality(_longest(points, dims), dims == 1)
        return Cardinality(_bound(points, dims), False)


def _union(domains: list[Domain], nest: LoopNest, around: frozenset[str]) -> tuple[isl.Set, int]:
    """Return the points of a nest with the axes and loops around the nest, and the number of these outer dimensions."""
    common = set(domains[0].names).intersection(*(domain.names for domain in domains))
    parallel = {name for domain in domains for name, axis in zip(domain.names, domain.axes, strict=True) if axis}
    outer = sorted((common - set(nest)) & (parallel | around))
    order = [*nest, *outer]
    united: isl.Set | None = None
    for domain in domains:
        points = domain.points.project_out_except(order, [SET])
        names = list(points.get_var_names(SET))
        if names != order:
            points = points.apply(isl.Map(f"{{ [{', '.join(names)}] -> [{', '.join(order)}] }}"))
        if united is None or not points.plain_is_equal(united):
            united = points if united is None else united.union(points)
    return united, len(outer)


def _one_runs_all(points: isl.Set, alone: isl.Set, dims: int) -> bool:
    """Return whether one point of the other dimensions occurs with all values of the first dimensions."""
    other_values = points.project_out(SET, 0, dims)
    missing = alone.flat_product(other_values).subtract(points)
    most = other_values.subtract(missing.project_out(SET, 0, dims))
    return bool(points.params().is_subset(most.params()))


def _longest(points: isl.Set, dims: int) -> isl.PwQPolynomial:
    number = isl.PwQPolynomial("{ 1 }")
    for k in range(dims):
        lines = _lines(points, dims, k)
        most = isl.Map.from_pw_aff(lines.dim_max(0).sub(lines.dim_min(0))).range().dim_max(0)
        number = product(number, isl.PwQPolynomial.from_pw_aff(most.add_constant_val(isl.Val(1))))
    return number


def _bound(points: isl.Set, dims: int) -> isl.PwQPolynomial:
    """Return an upper bound of trips: the product, over the first dimensions, of the most values on any line."""
    number = isl.PwQPolynomial("{ 1 }")
    for k in range(dims):
        lines = _lines(points, dims, k)
        longest = lines.reverse().apply_range(lines).deltas().dim_max_val(0)
        if longest.is_int():
            number = number.scale_val(longest.add(isl.Val(1)))
        else:
            line = points.project_out(SET, k + 1, points.dim(SET) - k - 1).project_out(SET, 0, k)
            length = line.dim_max(0).sub(line.dim_min(0)).add_constant_val(isl.Val(1))
            number = product(number, isl.PwQPolynomial.from_pw_aff(length))
    return number


def _lines(points: isl.Set, dims: int, k: int) -> isl.Map:
    """Return the values of a dimension, for fixed values of earlier loops and of the inames outside the nest."""
    lines = isl.Map.from_range(points.project_out(SET, k + 1, dims - k - 1)).move_dims(IN, 0, OUT, 0, k)
    return lines.move_dims(IN, k, OUT, 1, lines.dim(OUT) - 1)
