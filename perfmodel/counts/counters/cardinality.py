"""Numbers of executed instances at each granularity, and of work-items that execute anything at all.

Each distinct set is counted once.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from fractions import Fraction
from math import prod

import islpy as isl

from perfmodel.counts.counters.lane_boxes import completed, factors_of_lanes, in_sub_groups, without_local
from perfmodel.counts.points.cardinality import (
    MOST_FLOORS_ADDED,
    NOTHING,
    Cardinality,
    Unexpanded,
    floors_of,
    only_at_sizes,
    product,
    simplified,
)
from perfmodel.counts.points.factors import FactoredSet
from perfmodel.counts.points.set_counter import OPERATIONS, TERMS, BudgetSpentError, SetCounter, limited, terms_of
from perfmodel.counts.program.program import BarrierSite, Domain, Launch, Program
from perfmodel.counts.quasipoly.count import Count

BOUNDED = "the points of a set are only bounded"


class Cardinalities:
    """Counts the sets of one program and remembers them.

    Parameters
    ----------
    program : Program
        What the kernel executes.
    subgroup_size : int
        Work-items in a sub-group; sub-group = floor(linear local id / subgroup_size).
    budget : float
        What the formula of one set, or of one sum, may cost; 1 is ``OPERATIONS`` of isl.
    """

    def __init__(self, program: Program, subgroup_size: int, budget: float = 1.0) -> None:
        self.program = program
        self.operations = max(1, int(budget * OPERATIONS))
        self.subgroup_size = subgroup_size
        self._sets = SetCounter(program.assumptions, self.operations)
        self._products: dict[Domain, FactoredSet | None] = {}
        self._counts: dict[tuple[Domain, str], Count] = {}
        self._launches: dict[int, Cardinality] = {}
        self._grids: dict[tuple[int, int], isl.PwQPolynomial] = {}

    def count(self, domain: Domain, granularity: str = "workitem") -> Count:
        """Return how many (work-item | sub-group | work-group, instance) pairs there are."""
        key = (domain, granularity)
        if key not in self._counts:
            self._counts[key] = self._count_pairs(domain, granularity)
        return self._counts[key]

    def _splits(self, domain: Domain, launch: Launch) -> bool:
        """Whether the sub-groups of a group differ in what they execute."""
        several = launch.group_size > self.subgroup_size
        return several and any(axis.startswith("l") for axis in domain.axes)

    def _count_pairs(self, domain: Domain, granularity: str) -> Count:
        launch = self.program.launches[domain.launch]
        if granularity != "workitem" and domain.trips is not None:
            # each lane makes at most the trips of all work-items
            return self.count(domain).labelled(granularity, False, ("lanes make different numbers of trips",))
        number = self._pairs(domain, granularity).times(self._groups(domain.launch, domain.axes))
        repeated = self._repeated(domain, launch, granularity)
        if granularity == "workitem":
            return self.wrap(number, domain.factor * repeated, domain.exact, granularity, domain.reasons)
        doubts = domain.doubts
        return self.wrap(number, Fraction(repeated), not doubts, granularity, doubts)

    def _repeated(self, domain: Domain, launch: Launch, granularity: str) -> int:
        """Return how many units of a group execute the same, as the domain lacks their axes."""
        if granularity == "workitem":
            return prod(n for axis, n in enumerate(launch.group_shape) if f"l.{axis}" not in domain.axes)
        if granularity == "subgroup" and not self._splits(domain, launch):
            return -(-launch.group_size // self.subgroup_size)
        return 1

    def wrap(
        self, number: Cardinality, factor: Fraction = Fraction(1), exact: bool = True,
        granularity: str = "workitem", reasons: Iterable[str] = (),
    ) -> Count:
        """Return a :class:`Count` under the program's assumptions."""
        polynomial = number.polynomial
        with suppress(BudgetSpentError), limited(self.operations):
            polynomial = simplified(polynomial, self.program.assumptions)
        if not number.exact:
            exact, reasons = False, (*reasons, BOUNDED)
        count = Count(polynomial, self.program.assumptions, exact, granularity, number.unexpanded, reasons)
        return count if factor == 1 else factor * count

    def _pairs(self, domain: Domain, granularity: str) -> Cardinality:
        """Return the number of (unit, instance) pairs, for units along the domain's own axes."""
        if granularity == "workitem":
            return self._sets.count(domain.points, self._product(domain))
        launch = self.program.launches[domain.launch]
        split = granularity == "subgroup" and self._splits(domain, launch)
        size = self.subgroup_size if split else launch.group_size
        return self._closed_pairs(domain, launch, size) or self.size(
            in_sub_groups(domain, launch, size) if split else without_local(domain)
        )

    def _closed_pairs(self, domain: Domain, launch: Launch, size: int) -> Cardinality | None:
        """Return the same for units of ``size`` lanes, if they have closed forms."""
        whole = self._product(domain)
        if whole is None:
            return None
        return self._sets.sum_of_unions(whole, factors_of_lanes(whole, domain, launch, size))

    def _product(self, domain: Domain) -> FactoredSet | None:
        if domain not in self._products:
            self._products[domain] = self._sets.factored(domain.points)
        return self._products[domain]

    def size(self, points: isl.Set) -> Cardinality:
        """Return the number of points of a set, as a function of the parameters."""
        return self._sets.count(points, self.factors(points))

    def factors(self, points: isl.Set) -> FactoredSet | None:
        """Return a set as a product, if it is one."""
        return self._sets.factored(points)

    def total(self, sets: Iterable[isl.Set]) -> Cardinality:
        """Return the sum of the sizes of sets; equal sizes are multiplied rather than added."""
        sizes: dict[str, tuple[Cardinality, int]] = {}
        terms = spent = 0
        for points in sets:
            hard = spent > 1 or terms * OPERATIONS > TERMS * self.operations
            size = only_at_sizes(points) if hard else self.size(points)
            spent += len(size.unexpanded) > 0
            terms += terms_of(size.polynomial)
            key = f"{size.polynomial} {len(sizes) if size.unexpanded else ''}"
            sizes[key] = (size, sizes[key][1] + 1 if key in sizes else 1)
        exact = all(size.exact for size, _ in sizes.values())
        unexpanded = [summand for size, _ in sizes.values() for summand in size.unexpanded]
        number = NOTHING
        try:
            with limited(self.operations):
                for size, times in sizes.values():
                    if floors_of(number) + floors_of(size.polynomial) > MOST_FLOORS_ADDED:
                        raise BudgetSpentError
                    number = number.add(size.polynomial.scale_val(isl.Val(times)))
        except BudgetSpentError:
            number = NOTHING
            unexpanded += [Unexpanded(Fraction(times), (size.polynomial,), ()) for size, times in sizes.values()]
        return Cardinality(number, exact, tuple(unexpanded))

    def _groups(self, launch: int, axes: tuple[str, ...]) -> isl.PwQPolynomial:
        """Return the number of groups along the axes that are not among ``axes``."""
        number = isl.PwQPolynomial("{ 1 }")
        for axis, extent in enumerate(self.program.launches[launch].grid):
            if f"g.{axis}" not in axes:
                if (launch, axis) not in self._grids:
                    size = isl.PwQPolynomial.from_pw_aff(extent)
                    self._grids[launch, axis] = size
                number = product(number, self._grids[launch, axis])
        return number

    # {{{ launches and barriers

    def work_groups(self, launch: int) -> Count:
        """Return the work-groups that a launch starts, over all its repeats."""
        return self.wrap(self._repeats(launch).times(self._groups(launch, ())), granularity="workgroup")

    def repeats(self, launch: int) -> Count:
        """Return how often the host makes the launch."""
        return self.wrap(self._repeats(launch), granularity="launch")

    def _repeats(self, launch: int) -> Cardinality:
        if launch not in self._launches:
            self._launches[launch] = self.size(self.program.launches[launch].repeats)
        return self._launches[launch]

    def barriers(self, site: BarrierSite) -> Count:
        """Return the work-items that meet the barrier, each time that they do."""
        number = self.size(site.points).times(self._groups(site.launch, site.axes))
        group_size = self.program.launches[site.launch].group_size
        return self.wrap(number, site.factor * group_size, site.exact, reasons=site.reasons)

    # }}}


SET = isl.dim_type.set


def active_work_items(cardinalities: Cardinalities) -> Count:
    """Return the work-items that execute an operation or an access, over all launches.

    They are the union over statements of the projection onto the hardware axes (and the host's
    loops around a launch).
    """
    active: dict[int, isl.Set] = {}
    reasons: list[str] = []
    for statement in cardinalities.program.statements:
        domain = statement.domain
        points = _on_hardware_axes(completed(domain, cardinalities.program.launches[domain.launch]))
        reasons += domain.doubts if domain.chance != 1 or not domain.exact else ()
        known = active.get(domain.launch)
        if known is None:
            active[domain.launch] = points
        elif not points.is_subset(known):
            active[domain.launch] = known.union(points).coalesce()
    total = Count.constant(0)
    for launch, points in active.items():
        count = cardinalities.wrap(cardinalities.size(points), exact=not reasons, reasons=reasons)
        total = total + count.times(cardinalities.repeats(launch))
    return total


def _on_hardware_axes(domain: Domain) -> isl.Set:
    """Return the work-items of a domain, their axes sorted by name."""
    points = domain.points
    for index in reversed(range(len(domain.axes))):
        if not domain.axes[index]:
            points = points.project_out(SET, index, 1)
    axes = [axis for axis in domain.axes if axis]
    names = [f"w{k}" for k in range(len(axes))]
    target = [names[k] for k in sorted(range(len(axes)), key=axes.__getitem__)]
    return points.apply(isl.Map(f"{{ [{', '.join(names)}] -> [{', '.join(target)}] }}")).coalesce()
