"""Number of executed instances at each granularity, each distinct set counted once."""

from __future__ import annotations

from fractions import Fraction

import islpy as isl

from perfmodel.counts.axes import in_sub_groups, without_local
from perfmodel.counts.program import BarrierSite, Domain, Launch, Program
from perfmodel.counts.quasipoly import Count, product

SET, IN, OUT = isl.dim_type.set, isl.dim_type.in_, isl.dim_type.out


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
        self._known: dict[str, isl.PwQPolynomial] = {}
        self._counts: dict[tuple[tuple[Domain, ...], str], tuple[Count, ...]] = {}
        self._grids: dict[tuple[int, int], isl.PwQPolynomial] = {}

    def count(self, domain: Domain, granularity: str = "workitem") -> Count:
        """Return how many (work-item | sub-group | work-group, instance) pairs there are."""
        return self.count_parts((domain,), granularity)[0]

    def count_parts(
        self, parts: tuple[Domain, ...], granularity: str = "workitem"
    ) -> tuple[Count, ...]:
        """Return the same for disjoint parts of one domain, so that they sum to the domain's.

        A sub-group with lanes in two parts counts for the first of them.
        """
        key = (parts, granularity)
        if key not in self._counts:
            taken: isl.Set | None = None
            found = []
            for part in parts:
                pairs = self.pairs(part, granularity)
                fresh = pairs if taken is None else pairs.subtract(taken).coalesce()
                taken = pairs if taken is None else taken.union(pairs)
                found.append(self._count_pairs(fresh, part, granularity))
            self._counts[key] = tuple(found)
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

    def _count_pairs(self, pairs: isl.Set, domain: Domain, granularity: str) -> Count:
        launch = self.program.launches[domain.launch]
        if granularity != "workitem" and domain.trips is not None:
            # lanes make different numbers of trips, each at most those of all its work-items
            bound = self.count(domain)
            return self.wrap(bound.polynomial, Fraction(1), False, granularity)
        repeated = 1
        if granularity == "workitem":
            for axis, extent in enumerate(launch.group_shape):
                repeated *= 1 if f"l.{axis}" in domain.axes else extent
        elif granularity == "subgroup" and not self._splits(domain, launch):
            repeated = -(-launch.group_size // self.subgroup_size)
        number = product(self.size(pairs), self._groups(domain.launch, domain.axes))
        if granularity == "workitem":
            return self.wrap(number, domain.factor * repeated, domain.exact, granularity)
        return self.wrap(
            number, Fraction(repeated), domain.exact and domain.chance == 1, granularity
        )

    def wrap(
        self, number: isl.PwQPolynomial, factor: Fraction, exact: bool, granularity: str
    ) -> Count:
        """Return a :class:`Count` under the program's assumptions."""
        count = Count(
            number.gist_params(self.program.assumptions), self.program.assumptions,
            exact, granularity,
        )
        return count if factor == 1 else factor * count

    def size(self, points: isl.Set) -> isl.PwQPolynomial:
        """Return the number of points of a set, as a function of the parameters."""
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
        number = product(repeats, self._groups(launch, ()))
        return self.wrap(number, Fraction(1), True, "workgroup")

    def repeats(self, launch: int) -> Count:
        """Return how often the host makes the launch."""
        number = self.size(self.program.launches[launch].repeats)
        return self.wrap(number, Fraction(1), True, "launch")

    def barriers(self, site: BarrierSite) -> Count:
        """Return the work-items that meet the barrier, each time that they do."""
        number = product(self.size(site.points), self._groups(site.launch, site.axes))
        group_size = self.program.launches[site.launch].group_size
        return self.wrap(number, site.factor * group_size, site.exact, "workitem")

    # }}}


def cardinality(points: isl.Set) -> isl.PwQPolynomial:
    """Return the number of points of a set by Barvinok's algorithm (section 3.2)."""
    return points.coalesce().card().coalesce()
