"""Number of executed instances at each granularity, each distinct set counted once."""

from __future__ import annotations

from fractions import Fraction

import islpy as isl

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
        self._counts: dict[tuple[Domain, str], Count] = {}
        self._grids: dict[tuple[int, int], isl.PwQPolynomial] = {}

    def count(self, domain: Domain, granularity: str = "workitem") -> Count:
        """Return how many (work-item | sub-group | work-group, instance) pairs there are."""
        key = (domain, granularity)
        if key not in self._counts:
            launch = self.program.launches[domain.launch]
            if granularity == "workitem":
                number = self._work_items(domain, launch)
            elif granularity == "subgroup":
                number = self._sub_groups(domain, launch)
            else:
                number = self.size(without_local(domain))
            number = product(number, self._groups(domain.launch, domain.axes))
            self._counts[key] = self.wrap(number, domain.factor, domain.exact, granularity)
        return self._counts[key]

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

    def _work_items(self, domain: Domain, launch: Launch) -> isl.PwQPolynomial:
        repeated = 1
        for axis, extent in enumerate(launch.group_shape):
            if f"l.{axis}" not in domain.axes:
                repeated *= extent
        return self.size(domain.points).scale_val(isl.Val(repeated))

    def _sub_groups(self, domain: Domain, launch: Launch) -> isl.PwQPolynomial:
        per_group = -(-launch.group_size // self.subgroup_size)
        if per_group == 1 or not any(axis.startswith("l") for axis in domain.axes):
            return self.size(without_local(domain)).scale_val(isl.Val(per_group))
        return self.size(in_sub_groups(domain, launch, self.subgroup_size))

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


def without_local(domain: Domain) -> isl.Set:
    """Return the (work-group, instance) pairs of a domain."""
    points = domain.points
    for index in reversed(range(len(domain.axes))):
        if domain.axes[index].startswith("l"):
            points = points.project_out(SET, index, 1)
    return points


def in_sub_groups(domain: Domain, launch: Launch, size: int) -> isl.Set:
    """Return the (sub-group, instance) pairs of a domain: local axes become the sub-group."""
    points = domain.points
    axes = list(domain.axes)
    for axis, extent in enumerate(launch.group_shape):
        if f"l.{axis}" not in axes:
            points = points.add_dims(SET, 1)
            index = len(axes)
            points = points.lower_bound_val(SET, index, isl.Val(0))
            points = points.upper_bound_val(SET, index, isl.Val(extent - 1))
            axes.append(f"l.{axis}")
    space = points.get_space()
    lane = isl.Aff.zero_on_domain(isl.LocalSpace.from_space(space))
    stride = 1
    for axis, extent in enumerate(launch.group_shape):
        lane = lane.set_coefficient_val(IN, axes.index(f"l.{axis}"), isl.Val(stride))
        stride *= extent
    sub_group = isl.Map.from_aff(lane.scale_down_val(isl.Val(size)).floor())
    kept = isl.Map.identity(isl.Space.map_from_set(space))
    for index in reversed(range(len(axes))):
        if axes[index].startswith("l"):
            kept = kept.project_out(OUT, index, 1)
    return points.apply(kept.flat_range_product(sub_group))
