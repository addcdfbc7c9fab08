"""Cache lines that the accesses of a kernel touch.

Lines are counted row by row in index space, every row beginning on a line: isl cannot hold the
product n*i of a flattened address. With sizes fixed it can, and the count is that of the array as
it lies in memory, its first cell on a line.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import islpy as isl

from perfmodel.counts.counters.cardinality import Cardinalities
from perfmodel.counts.counters.footprint import Site
from perfmodel.counts.counters.lane_boxes import completed, sub_groups
from perfmodel.counts.counters.line_places import places_of
from perfmodel.counts.counters.line_runs import lines_of, most_lines
from perfmodel.counts.program.program import Access, Domain
from perfmodel.counts.quasipoly.at_sizes import parameters_of
from perfmodel.counts.quasipoly.count import Count
from perfmodel.errors import ParameterError

SET, IN, OUT, PARAM = isl.dim_type.set, isl.dim_type.in_, isl.dim_type.out, isl.dim_type.param
UNITS = ("instance", "subgroup", "workgroup", "launch")
Key = tuple[int, int, int, int | None]  # launch, site, sub-group, cells of a line if not aligned


@dataclass(frozen=True)
class Lines:
    """The distinct lines that some accesses to one array touch.

    Attributes
    ----------
    cardinalities : Cardinalities
        Counts the sets of the program.
    sites : list of (Domain, Access)
        The accesses and where they are executed.
    line_bytes : int
        Size of a cache line.
    sizes : mapping of str to int
        Values of all size parameters, or nothing.
    """

    cardinalities: Cardinalities
    sites: list[Site]
    line_bytes: int
    sizes: Mapping[str, int]

    def count(self, per: str) -> Count:
        """Return the lines of each unit, summed over the units.

        ``"instance"`` is one execution of one access by one sub-group (its transactions); the
        other units are taken with everything that they touch during a launch.
        """
        if any(a.cells is None or domain.trips is not None for domain, a in self.sites):
            return self._bound()
        touched, exact = self._touched(per)
        total = self._total([
            part for key, places in touched.items() for part in _with_a_point_per_line(places.coalesce(), key[-1])
        ])
        reasons = [reason for domain, _ in self.sites for reason in domain.reasons]
        return total.labelled("line", exact and total.exact, reasons)

    def _bound(self) -> Count:
        total = Count.constant(0)
        for domain, _ in self.sites:  # at most one line an execution
            total = total + self.cardinalities.count(domain)
        return total.labelled("line", exact=False)

    def _touched(self, per: str) -> tuple[dict[Key, isl.Set], bool]:
        """Return sets of (unit, row, line) or (unit, row, cell), and whether they are exact.

        Accesses whose lines may be the same share a set, if their rows are the same. Rows that are taken apart in
        different ways, as those of a[m*i + j] and a[n*j + i], may share lines that count twice.
        """
        touched: dict[Key, isl.Set] = {}
        layouts = [() if self.sizes else _rows(access) for _, access in self.sites]
        exact = per == "instance" or len(set(layouts)) == 1
        for number, (domain, access) in enumerate(self.sites):
            whole = completed(domain, self.cardinalities.program.launches[domain.launch])
            places = places_of(access, self.line_bytes, self.sizes, self.cardinalities.program.assumptions)
            exact = exact and places.exact and domain.exact and access.cells_exact and domain.chance == 1
            axes_added = len(whole.axes) - len(domain.axes)  # at the end
            target = self._unit(whole, per).flat_range_product(places.of_points.add_dims(IN, axes_added))
            site = number if per == "instance" else layouts.index(layouts[number])
            for part, points in self._parts(whole, per):
                key = (domain.launch, site, part, places.cells_per_line)
                found = points.apply(target)
                touched[key] = touched[key].union(found) if key in touched else found
        return touched, exact

    def _parts(self, domain: Domain, per: str) -> Iterator[tuple[int, isl.Set]]:
        """Yield the instances of each sub-group of a group where units are sub-groups."""
        if per in ("workgroup", "launch"):
            yield 0, domain.points
        else:
            launch = self.cardinalities.program.launches[domain.launch]
            for number, lanes in sub_groups(domain, launch, self.cardinalities.subgroup_size):
                yield number, domain.points.intersect(lanes)

    def _unit(self, domain: Domain, per: str) -> isl.Map:
        """Return the map from an instance to the unit whose lines are summed."""
        launch = self.cardinalities.program.launches[domain.launch]
        kept = isl.Map.identity(isl.Space.map_from_set(domain.points.get_space()))
        repeats = launch.repeats.get_var_names(SET)
        for index in reversed(range(len(domain.axes))):
            is_loop = domain.axes[index] == "" and domain.names[index] not in domain.tied
            stays = domain.axes[index].startswith("g") or (is_loop and per == "instance")
            if domain.names[index] not in repeats and (per == "launch" or not stays):
                kept = kept.project_out(OUT, index, 1)
        return kept

    def _total(self, sets: list[isl.Set]) -> Count:
        if not self.sizes:
            return self.cardinalities.wrap(self.cardinalities.total(sets), granularity="line")
        number = self.cardinalities.total([self._fixed(points) for points in sets])
        count = Count(number.polynomial, exact=number.exact, granularity="line", unexpanded=number.unexpanded)
        return count.at() if number.unexpanded else count  # no size is left

    def _fixed(self, points: isl.Set) -> isl.Set:
        for name, value in self.sizes.items():
            index = points.find_dim_by_name(PARAM, name)
            if index >= 0:
                points = points.fix_val(PARAM, index, isl.Val(value))
        found = points.project_out(PARAM, 0, points.dim(PARAM))
        missing = [name for name in parameters_of(points) if name not in self.sizes]
        if missing and not found.is_bounded():
            raise ParameterError(missing[0], "was left out", self.cardinalities.program.parameters)
        return found


def _rows(access: Access) -> tuple[str, ...]:
    """Return the distances of the rows of an array in bits, as texts."""
    return tuple(
        str(stride.scale_val(isl.Val(access.bits)))
        for axis, stride in enumerate(access.strides) if axis != access.unit_axis
    )


def _with_a_point_per_line(touched: isl.Set, per_line: int | None) -> list[isl.Set]:
    """Return sets with together as many points as there are lines, or more.

    Those touched are lines already if ``per_line`` is None, else cells of rows that may begin
    anywhere in a line. Then a row touches a constant number of lines, if there is one, or else at
    most one line more than it would if it began on a line.
    """
    if per_line is None:
        return [touched]
    rows = touched.project_out(SET, touched.dim(SET) - 1, 1)
    most = most_lines(touched, per_line)
    return [lines_of(touched, per_line), rows] if most is None else [rows] * most
