"""Cache lines that the accesses of a kernel touch.

Lines are counted row by row in index space, every row beginning on a line: isl cannot hold the
product n*i of a flattened address. Where a stride is a number it can: with sizes fixed, or with no
size in the array's shape, the count is that of the array as it lies in memory, its first cell on a line.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import islpy as isl

from perfmodel.counts.counters.cardinality import BOUNDED, Cardinalities
from perfmodel.counts.counters.footprint import Site, all_doubts
from perfmodel.counts.counters.lane_boxes import completed, sub_groups
from perfmodel.counts.counters.line_places import Places, places_of
from perfmodel.counts.counters.line_runs import consecutive, far_apart, lines_anywhere, lines_of, most_lines
from perfmodel.counts.program.program import Domain
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
        places = [
            places_of(access, self.line_bytes, self.sizes, self.cardinalities.program.assumptions)
            for _, access in self.sites
        ]
        reasons = self._reasons(per, places)
        total = self._total([
            part for key, cells in self._touched(per, places).items()
            for part in _with_a_point_per_line(cells.coalesce(), key[-1])
        ])
        return total.labelled("line", total.exact and not reasons, reasons)

    def _bound(self) -> Count:
        total = Count.constant(0)
        for domain, _ in self.sites:  # at most one line an execution
            total = total + self.cardinalities.count(domain)
        return total.labelled("line", False, all_doubts(self.sites))

    def _reasons(self, per: str, places: list[Places]) -> list[str]:
        """Return why the count is not exact.

        Rows that are taken apart in different ways, as those of a[m*i + j] and a[n*j + i], may share lines that
        count twice.
        """
        reasons = all_doubts(self.sites)
        array = self.sites[0][1].array
        if not all(one.exact for one in places):
            reasons.append(f"a row of '{array}' may begin anywhere in a line")
        if per != "instance" and len({one.rows for one in places}) > 1:
            reasons.append(f"rows of '{array}' that differ in length may share lines")
        return reasons

    def _touched(self, per: str, places: list[Places]) -> dict[Key, isl.Set]:
        """Return sets of (unit, row, line) or (unit, row, cell).

        Accesses whose lines may be the same share a set, if their rows are the same.
        """
        touched: dict[Key, isl.Set] = {}
        layouts = [one.rows for one in places]
        for number, ((domain, _), place) in enumerate(zip(self.sites, places, strict=True)):
            whole = completed(domain, self.cardinalities.program.launches[domain.launch])
            axes_added = len(whole.axes) - len(domain.axes)  # at the end
            target = self._unit(whole, per).flat_range_product(place.of_points.add_dims(IN, axes_added))
            site = number if per == "instance" else layouts.index(layouts[number])
            for part, points in self._parts(whole, per):
                key = (domain.launch, site, part, place.cells_per_line)
                found = points.apply(target)
                touched[key] = touched[key].union(found) if key in touched else found
        return touched

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
        reasons = () if number.exact else (BOUNDED,)
        count = Count(
            number.polynomial, exact=number.exact, granularity="line", unexpanded=number.unexpanded, reasons=reasons
        )
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


def _with_a_point_per_line(touched: isl.Set, per_line: int | None) -> list[isl.Set]:
    """Return sets with together as many points as there are lines, or more.

    Those touched are lines already if ``per_line`` is None, else cells of rows that may begin
    anywhere in a line. Then a row touches a constant number of lines, if there is one, or else at most one line more
    than it would if it began on a line, or one for each cell, or all those lines and the ones after them.
    """
    if per_line is None:
        return [touched]
    rows = touched.project_out(SET, touched.dim(SET) - 1, 1)
    most = most_lines(touched, per_line)
    if most is not None:
        return [rows] * most
    lines = lines_of(touched, per_line)
    if consecutive(lines):
        return [lines, rows]
    return [touched if far_apart(touched, per_line) else lines_anywhere(touched, per_line)]
