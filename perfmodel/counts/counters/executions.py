"""Numbers of executed instances at each granularity, of active work-items, and the work of each work-group.

A *box* of lanes is a product of intervals of local ids. A product of polytopes is a tuple of *factors*.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, reduce
from itertools import count
from math import prod

import islpy as isl
import numpy as np
from numpy.typing import NDArray

from perfmodel.counts.points import cardinality
from perfmodel.counts.points.cardinality import NOTHING, Cardinality, Unexpanded, floors_of
from perfmodel.counts.points.factors import FactoredSet, Factors, eliminated, variable, without_dimensions
from perfmodel.counts.points.polytopes import AffineForm, Polytope
from perfmodel.counts.points.set_counter import OPERATIONS, TERMS, BudgetSpentError, SetCounter, limited, terms_of
from perfmodel.counts.program.program import BarrierSite, Domain, Launch, Program
from perfmodel.counts.quasipoly.arguments import parameters_of
from perfmodel.counts.quasipoly.count import Count
from perfmodel.counts.quasipoly.evaluation import evaluated
from perfmodel.counts.rows import total
from perfmodel.values import FrozenValue

PARAM, SET = isl.dim_type.param, isl.dim_type.set
BELOW = isl.Map("{ [n] -> [x] : 0 <= x < n }")
COORDINATE = "group_axis_"  # a group's coordinate is a parameter with this prefix and the number of the axis
SUMMED = 16  # most sub-groups of a group that are counted one by one; counting more at once is faster
BOUNDED = "the points of a set are only bounded"
Box = tuple[tuple[int, int], ...]  # first and last local id along each axis


class Cardinalities:
    """Counts the points of one program's sets. ``budget`` limits the work of isl for each formula."""

    def __init__(self, program: Program, subgroup_size: int, budget: float = 1.0) -> None:
        self.program = program
        self.operations = max(1, int(budget * OPERATIONS))
        self.subgroup_size = subgroup_size
        self.sets = SetCounter(program.assumptions, self.operations)
        self._counts: dict[tuple[Domain, str], Count] = {}
        self._grids = [tuple(map(isl.PwQPolynomial.from_pw_aff, launch.grid)) for launch in program.launches]

    @cached_property
    def signed(self) -> frozenset[str]:
        """The parameters that may be negative."""
        return signed_parameters(self.program)

    def count(self, domain: Domain, granularity: str = "workitem") -> Count:
        """Return the number of pairs of an instance and the work-item, sub-group or work-group that executes it."""
        key = (domain, granularity)
        if key not in self._counts:
            self._counts[key] = self._count_pairs(domain, granularity)
        return self._counts[key]

    def _count_pairs(self, domain: Domain, granularity: str) -> Count:
        launch = self.program.launches[domain.launch]
        if granularity != "workitem" and domain.trips is not None:
            # bound: each lane makes at most as many trips as all work-items
            return self.count(domain).labelled(granularity, False, ("lanes make different numbers of trips",))
        number = self._pairs(domain, granularity).times(self._groups(domain.launch, domain.axes))
        # all units of a group execute the same if the domain lacks their axes
        if granularity == "workitem":
            factor = domain.factor * repetitions(domain, launch)
            return self.wrap(number, factor, domain.exact, granularity, domain.reasons)
        alike = granularity == "subgroup" and not self._splits(domain, launch)
        repeated = -(-launch.group_size // self.subgroup_size) if alike else 1
        doubts = domain.doubts
        return self.wrap(number, Fraction(repeated), not doubts, granularity, doubts)

    def _splits(self, domain: Domain, launch: Launch) -> bool:
        """Return whether the sub-groups of a group may execute different instances."""
        several = launch.group_size > self.subgroup_size
        return several and any(axis.startswith("l") for axis in domain.axes)

    def _pairs(self, domain: Domain, granularity: str) -> Cardinality:
        whole = self.sets.factored(domain.points)
        if granularity == "workitem":
            return self.sets.count(domain.points, whole)
        launch = self.program.launches[domain.launch]
        split = granularity == "subgroup" and self._splits(domain, launch)
        size = self.subgroup_size if split else launch.group_size
        if whole is not None:
            number = self.sets.sum_of_unions(whole, factors_of_lanes(whole, domain, launch, size))
            if number is not None:
                return number
        if not split:
            return self.size(without_local(domain))
        return self._sum(list(in_sub_groups(domain, launch, size)))

    def executions(self, domain: Domain, parts: list[isl.Set]) -> Count:
        """Return how often sub-groups execute the points of sets that have only the domain's group axes."""
        return self.wrap(self._sum(parts).times(self._groups(domain.launch, domain.axes)), granularity="subgroup")

    def _sum(self, parts: list[isl.Set]) -> Cardinality:
        return self.total(parts) if len(parts) <= SUMMED else self.size(side_by_side(parts))

    def wrap(
        self, number: Cardinality, factor: Fraction = Fraction(1), exact: bool = True,
        granularity: str = "workitem", reasons: Iterable[str] = (),
    ) -> Count:
        polynomial = number.polynomial
        with suppress(BudgetSpentError), limited(self.operations):
            polynomial = cardinality.simplified(polynomial, self.program.assumptions)
        if not number.exact:
            exact, reasons = False, (*reasons, BOUNDED)
        number = Cardinality(polynomial, exact, number.unexpanded)
        count = Count(number, self.program.assumptions, granularity, tuple(reasons), self.signed)
        return count if factor == 1 else factor * count

    def size(self, points: isl.Set) -> Cardinality:
        return self.sets.count(points, self.sets.factored(points))

    def total(self, sets: Iterable[isl.Set]) -> Cardinality:
        """Return the sum of the sizes of sets. Equal sizes are counted once and multiplied."""
        sizes: dict[str, tuple[Cardinality, int]] = {}
        terms = spent = 0
        for points in sets:
            hard = spent > 1 or terms * OPERATIONS > TERMS * self.operations
            size = cardinality.only_at_sizes(points) if hard else self.size(points)
            spent += len(size.unexpanded) > 0
            terms += terms_of(size.polynomial)
            key = f"{size.polynomial} {len(sizes) if size.unexpanded else ''}"
            sizes[key] = (size, sizes[key][1] + 1 if key in sizes else 1)
        unexpanded = [summand for size, _ in sizes.values() for summand in size.unexpanded]
        number = NOTHING
        try:
            with limited(self.operations):
                for size, times in sizes.values():
                    if floors_of(number) + floors_of(size.polynomial) > cardinality.MOST_FLOORS_ADDED:
                        raise BudgetSpentError
                    number = number.add(size.polynomial.scale_val(cardinality.isl_value(times)))
        except BudgetSpentError:
            number = NOTHING
            unexpanded += [Unexpanded(Fraction(times), (size.polynomial,)) for size, times in sizes.values()]
        return Cardinality(number, unexpanded=tuple(unexpanded))

    def _groups(self, launch: int, axes: tuple[str, ...]) -> isl.PwQPolynomial:
        number = isl.PwQPolynomial("{ 1 }")
        for axis, extent in enumerate(self._grids[launch]):
            if f"g.{axis}" not in axes:
                number = cardinality.product(number, extent)
        return number

    def work_groups(self, launch: int) -> Count:
        number = self.size(self.program.launches[launch].repeats).times(self._groups(launch, ()))
        return self.wrap(number, granularity="workgroup")

    def repeats(self, launch: int) -> Count:
        return self.wrap(self.size(self.program.launches[launch].repeats), granularity="launch")

    def barriers(self, site: BarrierSite) -> Count:
        number = self.size(site.points).times(self._groups(site.launch, site.axes))
        group_size = self.program.launches[site.launch].group_size
        return self.wrap(number, site.factor * group_size, site.exact, reasons=site.reasons)


def repetitions(domain: Domain, launch: Launch) -> int:
    """Return how many work-items of a group have the same values on the local axes of a domain."""
    return prod(extent for axis, extent in enumerate(launch.group_shape) if f"l.{axis}" not in domain.axes)


def active_work_items(cardinalities: Cardinalities) -> Count:
    """Return the number of work-items that execute an operation or an access."""
    active: dict[int, isl.Set] = {}
    reasons: list[str] = []
    statements = cardinalities.program.statements
    domains = dict.fromkeys(each.domain for each in statements if each.operations or each.accesses)
    for domain in sorted(domains, key=lambda domain: domain.chance != 1 or not domain.exact):
        points = _work_items(domain, cardinalities.program.launches[domain.launch])
        known = active.get(domain.launch)
        if known is None or not points.is_subset(known):
            reasons += domain.doubts if domain.chance != 1 or not domain.exact else ()
            active[domain.launch] = points if known is None else known.union(points).coalesce()
    sizes = map(cardinalities.size, active.values())
    return sum((cardinalities.wrap(size, exact=not reasons, reasons=reasons) for size in sizes), Count.constant(0))


def _work_items(domain: Domain, launch: Launch) -> isl.Set:
    whole, host = completed(domain, launch), launch.repeats.get_var_names(SET)
    points, axes = launch.repeats.flat_product(whole.points), ["" for _ in host]
    for k, name in enumerate(whole.names, len(host)):
        if name in host:
            points = points.equate(SET, host.index(name), SET, k)
    points = without_dimensions(points, (k for k, axis in enumerate(whole.axes, len(host)) if not axis))
    axes += [axis for axis in whole.axes if axis]
    names = [f"w{k}" for k in range(len(axes))]
    target = [names[k] for k in sorted(range(len(axes)), key=axes.__getitem__)]
    return points.apply(isl.Map(f"{{ [{', '.join(names)}] -> [{', '.join(target)}] }}")).coalesce()


def completed(domain: Domain, launch: Launch, groups: bool = True) -> Domain:
    """Return the domain with all local axes of its launch as dimensions. If ``groups``, add all group axes too."""
    points, axes, names = domain.points, list(domain.axes), list(domain.names)
    limits = [(f"g.{k}", isl.Set.from_pw_aff(extent).apply(BELOW)) for k, extent in enumerate(launch.grid) if groups]
    limits += [(f"l.{k}", isl.Set(f"{{ [x] : 0 <= x < {extent} }}")) for k, extent in enumerate(launch.group_shape)]
    for axis, limit in limits:
        if axis not in axes:
            points = points.flat_product(limit)
            axes.append(axis)
            names.append(axis.replace(".", "_axis_"))
    for index, name in enumerate(names):
        points = points.set_dim_name(SET, index, name)
    return replace(domain, points=points, axes=tuple(axes))


def without_local(domain: Domain) -> isl.Set:
    """Return the (work-group, instance) pairs of a domain."""
    local = [axis.startswith("l") or name in domain.tied for axis, name in zip(domain.axes, domain.names, strict=True)]
    return without_dimensions(domain.points, (k for k, leaves in enumerate(local) if leaves))


def in_sub_groups(domain: Domain, launch: Launch, size: int) -> Iterator[isl.Set]:
    whole = completed(domain, launch, groups=False)
    for _, lanes in sub_groups(whole, launch, size):
        yield without_local(replace(whole, points=whole.points.intersect(lanes))).coalesce()


def side_by_side(parts: Iterable[isl.Set]) -> isl.Set:
    """Return the disjoint union of sets."""
    numbers = (isl.Set(f"{{ [{number}] }}") for number in count())
    return reduce(isl.Set.union, map(isl.Set.flat_product, parts, numbers))


def sub_groups(domain: Domain, launch: Launch, size: int) -> Iterator[tuple[int, isl.Set]]:
    """Yield the number of each sub-group, and the lanes of this sub-group as boxes in the domain's space."""
    space = domain.points.get_space()
    positions = [domain.axes.index(f"l.{axis}") for axis in range(len(launch.group_shape))]
    for number, boxes in enumerate(boxes_of_sub_groups(launch, size)):
        lanes = isl.Set.empty(space)
        for box in boxes:
            part = isl.Set.universe(space)
            for position, (low, high) in zip(positions, box, strict=True):
                part = part.lower_bound_val(SET, position, isl.Val(low))
                part = part.upper_bound_val(SET, position, isl.Val(high))
            lanes = lanes.union(part)
        yield number, lanes


def boxes_of_sub_groups(launch: Launch, size: int) -> Iterator[list[Box]]:
    for first in range(0, launch.group_size, size):
        yield _boxes(first, min(first + size, launch.group_size) - 1, launch.group_shape)


def _boxes(first: int, last: int, shape: tuple[int, ...]) -> list[Box]:
    """Return the linear ids from first to last as boxes of local ids. ``l.0`` is the fastest axis."""
    if len(shape) <= 1:
        return [((first, last),)] if shape else [()]
    row = prod(shape[:-1])
    low, high = first // row, last // row
    if first % row == 0 and last % row == row - 1:
        return [(*((0, extent - 1) for extent in shape[:-1]), (low, high))]
    if low == high:
        return [(*box, (low, low)) for box in _boxes(first % row, last % row, shape[:-1])]
    boxes = _boxes(first, (low + 1) * row - 1, shape)
    if high - low > 1:
        boxes += _boxes((low + 1) * row, high * row - 1, shape)
    return boxes + _boxes(high * row, last, shape)


def factors_of_lanes(product: FactoredSet, domain: Domain, launch: Launch, size: int) -> Iterator[list[Factors]]:
    """Yield, for each sub-group of ``size`` lanes, the instances that this sub-group executes, as a union of products.

    A box of lanes is left out if another box provably has all its instances. A factor is None (unknown) unless its
    projection is provably a polytope of integers.
    """
    lanes = {variable(k): int(axis[2:]) for k, axis in enumerate(domain.axes) if axis.startswith("l")}
    tied = [variable(k) for k, name in enumerate(domain.names) if name in domain.tied]
    removed = {*lanes, *tied}
    whole = tuple(f for f in product.factors if not removed & {*f.variables})
    touched = [f for f in product.factors if removed & {*f.variables}]
    projections: dict[object, Polytope | None] = {}  # sub-groups often share limits along an axis

    def projected(factor: Polytope, box: Box) -> Polytope | None:
        limits = tuple((name, *box[lanes[name]]) for name in factor.variables if name in lanes)
        key = (factor.variables, limits)
        if key not in projections:
            projections[key] = _projected(factor, limits, removed)
        return projections[key]

    for boxes in boxes_of_sub_groups(launch, size):
        kept: list[Factors] = []
        for box in boxes:
            instances = tuple(projected(factor, box) for factor in touched)
            if not any(_contains(earlier, instances) for earlier in kept):
                kept = [earlier for earlier in kept if not _contains(instances, earlier)] + [instances]
        yield [(*whole, *factors) for factors in kept]


def _contains(larger: Factors, smaller: Factors) -> bool:
    """Return whether each polytope of ``larger`` provably contains the polytope of ``smaller`` at the same position."""
    return larger == smaller or all(
        outer is not None and inner is not None and outer.equalities == inner.equalities
        and all(any(row.follows_from(tighter) for tighter in inner.inequalities) for row in outer.inequalities)
        for outer, inner in zip(larger, smaller, strict=True)
    )


def _projected(factor: Polytope, limits: Iterable[tuple[str, int, int]], removed: set[str]) -> Polytope | None:
    rows = list(factor.inequalities)
    for name, low, high in limits:
        lane = AffineForm({name: 1})
        rows += [lane - low, -lane + high]
    result: Polytope | None = Polytope(factor.variables, factor.equalities, tuple(rows))
    for name in factor.variables:
        if name in removed and result is not None:
            result = eliminated(result, name)
    return result


def signed_parameters(program: Program) -> frozenset[str]:
    """Return the parameters that may be negative.

    A negative value must neither break the assumptions nor leave a loop nest or the extent of an array without points.
    Tests of parameters alone do not count, since a test may be false. Strides of arrays are never negative.
    """
    open_below = [name for name in program.parameters if _below_zero(program.assumptions, name)]
    if not open_below:
        return frozenset()
    nests = [*_nests(program), *([extent] for extent in _extents(program))]
    strides = {name for stride in _strides(program) for name in parameters_of(stride)}
    return frozenset(
        name for name in open_below
        if name not in strides and all(any(_below_zero(part, name) for part in nest) for nest in nests)
    )


def _below_zero(points: isl.Set, name: str) -> bool:
    """Return whether a set has points where a parameter is negative."""
    position = points.find_dim_by_name(isl.dim_type.param, name)
    return position < 0 or not points.upper_bound_val(isl.dim_type.param, position, isl.Val(-1)).is_empty()


def _nests(program: Program) -> Iterator[list[isl.Set]]:
    """Yield the points of the statements of each loop nest, without conditions on parameters alone."""
    nests: defaultdict[tuple[int, tuple[str, ...]], dict[int, isl.Set]] = defaultdict(dict)
    for statement in (*program.statements, *program.decisions):
        domain = statement.domain
        nests[domain.launch, domain.names][id(domain.points)] = domain.points
    yield from ([_of_dimensions(points) for points in parts.values()] for parts in nests.values())
    yield from ([_of_dimensions(launch.repeats)] for launch in program.launches)


def _of_dimensions(points: isl.Set) -> isl.Set:
    return points.drop_constraints_not_involving_dims(SET, 0, points.dim(SET))


def _extents(program: Program) -> Iterable[isl.Set]:
    accesses = (access for statement in program.statements for access in statement.accesses)
    return {id(extent): extent for access in accesses for extent in access.shape or ()}.values()


def _strides(program: Program) -> Iterable[isl.PwQPolynomial]:
    accesses = [access for statement in program.statements for access in statement.accesses]
    distances = [stride.distance for access in accesses for stride in access.lane_stride]
    strides = (stride for access in accesses for stride in access.strides)
    return {id(stride): stride for stride in (*distances, *strides)}.values()


def _coordinate(axis: int) -> str:
    return f"{COORDINATE}{axis}"


@dataclass(frozen=True, eq=False)
class GroupWork(FrozenValue):
    """The number of operations and accesses of each work-group of a launch."""

    amount: Count  # of one group; its parameters are sizes and the group's coordinates
    grid: tuple[Count, ...]  # groups along ``g.0``, ``g.1``, ...

    def groups(self, sizes: Mapping[str, int]) -> int:
        return prod(self._extents(sizes))

    def at(self, sizes: Mapping[str, int]) -> NDArray[np.float64]:
        """Return the amount of work of each group at some sizes. ``g.0`` is the fastest axis."""
        extents, function = self._extents(sizes), self.amount.function
        names = [_coordinate(axis) for axis in range(len(extents))]
        moving = [extent if name in function.parameters else 1 for name, extent in zip(names, extents, strict=True)]
        indices = dict(zip(names, np.indices(moving[::-1]).reshape(len(moving), -1)[::-1], strict=True))
        number = prod(moving)
        columns = [indices[name] if name in indices else np.full(number, sizes[name]) for name in function.parameters]
        return np.broadcast_to(evaluated(function, columns, number).reshape(moving[::-1]), extents[::-1]).ravel()

    def _extents(self, sizes: Mapping[str, int]) -> list[int]:
        functions = [extent.function for extent in self.grid]
        return [int(function.exact(*[sizes[name] for name in function.parameters])) for function in functions]


def group_works(cardinalities: Cardinalities) -> Iterator[GroupWork | None]:
    """Yield the work of each launch's groups, or None if all groups do the same work or there is no formula."""
    for number, launch in enumerate(cardinalities.program.launches):
        weights = Counter[Domain]()
        for statement in cardinalities.program.statements:
            if statement.domain.launch == number:
                accesses = sum(access.space != "private" for access in statement.accesses)
                weights[statement.domain] += sum(operation.amount for operation in statement.operations) + accesses
        yield _work(cardinalities, launch, weights)


def _work(cardinalities: Cardinalities, launch: Launch, weights: Mapping[Domain, int]) -> GroupWork | None:
    grid = _grid(cardinalities, launch)
    space = grid.get_space()
    points = {domain: _of_group(domain, space) for domain, weight in weights.items() if weight}
    if all(_alike(instances, grid) for instances in points.values()):
        return None
    by_group = Cardinalities(
        replace(cardinalities.program, assumptions=grid), cardinalities.subgroup_size,
        cardinalities.operations / OPERATIONS,
    )
    amount = total(
        weights[domain] * domain.factor * repetitions(domain, launch) * by_group.wrap(by_group.size(instances))
        for domain, instances in points.items()
    )
    extents = (isl.PwQPolynomial.from_pw_aff(extent) for extent in launch.grid)
    return None if amount.unexpanded else GroupWork(amount, tuple(map(Count, extents)))


def _grid(cardinalities: Cardinalities, launch: Launch) -> isl.Set:
    """Return the allowed sizes and group coordinates as a set of parameters."""
    grid = cardinalities.program.assumptions
    for axis, extent in enumerate(launch.grid):
        along = isl.Set.from_pw_aff(extent).apply(BELOW)
        along = along.move_dims(PARAM, along.dim(PARAM), SET, 0, 1)
        grid = grid.intersect(along.set_dim_name(PARAM, along.dim(PARAM) - 1, _coordinate(axis)).params())
    return grid


def _of_group(domain: Domain, space: isl.Space) -> isl.Set:
    points = domain.points
    for k in reversed(range(len(domain.axes))):
        if domain.axes[k].startswith("g"):
            points = points.move_dims(PARAM, points.dim(PARAM), SET, k, 1)
            points = points.set_dim_name(PARAM, points.dim(PARAM) - 1, _coordinate(int(domain.axes[k][2:])))
    return points.align_params(space)


def _alike(instances: isl.Set, grid: isl.Set) -> bool:
    any_group = instances.intersect_params(grid)
    for k in reversed(range(any_group.dim(PARAM))):
        if any_group.get_dim_name(PARAM, k).startswith(COORDINATE):
            any_group = any_group.project_out(PARAM, k, 1)
    return bool(any_group.align_params(grid.get_space()).intersect_params(grid).is_subset(instances))
