"""Number of executed instances at each granularity, each distinct set counted once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

import islpy as isl

from perfmodel.counts.axes import in_sub_groups, without_local
from perfmodel.counts.barvinok import can_count, warn_once
from perfmodel.counts.factors import factors
from perfmodel.counts.program import BarrierSite, Domain, Launch, Program
from perfmodel.counts.quasipoly import Count, product
from perfmodel.counts.summation import sum_of_points

SET, IN, OUT = isl.dim_type.set, isl.dim_type.in_, isl.dim_type.out


@dataclass(frozen=True)
class Cardinality:
    """The number of points of a set, and whether it is exact or an upper bound."""

    polynomial: isl.PwQPolynomial
    exact: bool = True

    def times(self, factor: isl.PwQPolynomial) -> Cardinality:
        """Return the number multiplied by an exact function of the parameters."""
        return Cardinality(product(self.polynomial, factor), self.exact)


class Cardinalities:
    """Counts the sets of one program and remembers them.

    Parameters
    ----------
    program : Program
        What the kernel executes.
    subgroup_size : int
        Work-items in a sub-group; sub-group = floor(linear local id / subgroup_size).
    """

    def __init__(self, program: Program, subgroup_size: int) -> None:
        self.program = program
        self.subgroup_size = subgroup_size
        self._known: dict[str, Cardinality] = {}
        self._counts: dict[tuple[Domain, str], Count] = {}
        self._grids: dict[tuple[int, int], isl.PwQPolynomial] = {}

    def count(self, domain: Domain, granularity: str = "workitem") -> Count:
        """Return how many (work-item | sub-group | work-group, instance) pairs there are."""
        key = (domain, granularity)
        if key not in self._counts:
            self._counts[key] = self._count_pairs(domain, granularity)
        return self._counts[key]

    def pairs(self, domain: Domain, granularity: str) -> isl.Set:
        """Return the set of (unit, instance) pairs, for units along the domain's own axes."""
        launch = self.program.launches[domain.launch]
        if granularity == "workitem":
            return domain.points
        if granularity == "subgroup" and self._splits(domain, launch):
            return in_sub_groups(domain, launch, self.subgroup_size)
        return without_local(domain)

    def _splits(self, domain: Domain, launch: Launch) -> bool:
        """Whether the sub-groups of a group differ in what they execute."""
        several = launch.group_size > self.subgroup_size
        return several and any(axis.startswith("l") for axis in domain.axes)

    def _count_pairs(self, domain: Domain, granularity: str) -> Count:
        launch = self.program.launches[domain.launch]
        if granularity != "workitem" and domain.trips is not None:
            # lanes make different numbers of trips, each at most those of all its work-items
            bound = self.count(domain)
            return self.wrap(Cardinality(bound.polynomial, False), granularity=granularity)
        repeated = 1
        if granularity == "workitem":
            for axis, extent in enumerate(launch.group_shape):
                repeated *= 1 if f"l.{axis}" in domain.axes else extent
        elif granularity == "subgroup" and not self._splits(domain, launch):
            repeated = -(-launch.group_size // self.subgroup_size)
        number = self.size(self.pairs(domain, granularity)).times(self._groups(domain.launch, domain.axes))
        if granularity == "workitem":
            return self.wrap(number, domain.factor * repeated, domain.exact, granularity)
        return self.wrap(
            number, Fraction(repeated), domain.exact and domain.chance == 1, granularity
        )

    def wrap(
        self, number: Cardinality, factor: Fraction = Fraction(1), exact: bool = True,
        granularity: str = "workitem",
    ) -> Count:
        """Return a :class:`Count` under the program's assumptions."""
        count = Count(
            number.polynomial.gist_params(self.program.assumptions).coalesce(),
            self.program.assumptions, exact and number.exact, granularity,
        )
        return count if factor == 1 else factor * count

    def size(self, points: isl.Set) -> Cardinality:
        """Return the number of points of a set, as a function of the parameters."""
        parts = [self._known_size(part) for part in factors(points)]
        total = parts[0]
        for part in parts[1:]:
            total = Cardinality(
                product(total.polynomial, part.polynomial), total.exact and part.exact
            )
        return total

    def total(self, sets: Iterable[isl.Set]) -> Cardinality:
        """Return the sum of the sizes of sets; equal sizes are multiplied rather than added."""
        sizes: dict[str, tuple[Cardinality, int]] = {}
        for points in sets:
            size = self.size(points)
            key = str(size.polynomial)
            sizes[key] = (size, sizes[key][1] + 1 if key in sizes else 1)
        exact = all(size.exact for size, _ in sizes.values())
        number = isl.PwQPolynomial("{ 0 }")
        for size, times in sizes.values():
            number = number.add(size.polynomial.scale_val(isl.Val(times)))
        return Cardinality(number, exact)

    def _known_size(self, points: isl.Set) -> Cardinality:
        for index in range(points.dim(SET)):
            points = points.set_dim_name(SET, index, f"d{index}")
        key = str(points)
        if key not in self._known:
            self._known[key] = cardinality(points)
        return self._known[key]

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
        repeats = self.size(self.program.launches[launch].repeats)
        number = repeats.times(self._groups(launch, ()))
        return self.wrap(number, Fraction(1), True, "workgroup")

    def repeats(self, launch: int) -> Count:
        """Return how often the host makes the launch."""
        number = self.size(self.program.launches[launch].repeats)
        return self.wrap(number, Fraction(1), True, "launch")

    def barriers(self, site: BarrierSite) -> Count:
        """Return the work-items that meet the barrier, each time that they do."""
        number = self.size(site.points).times(self._groups(site.launch, site.axes))
        group_size = self.program.launches[site.launch].group_size
        return self.wrap(number, site.factor * group_size, site.exact, "workitem")

    # }}}


def cardinality(points: isl.Set) -> Cardinality:
    """Return the number of points of a set (section 3.2 of the 2016 paper).

    By Barvinok's algorithm where ``islpy`` has it, else by :mod:`perfmodel.counts.summation`,
    with one warning in a process.
    """
    points = points.coalesce()
    if can_count():
        return Cardinality(points.card().coalesce())
    warn_once()
    return Cardinality(*sum_of_points(points))
