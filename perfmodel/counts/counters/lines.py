"""Cache lines that the accesses of a kernel touch.

Lines are counted row by row in index space, every row beginning on a line: isl cannot hold the
product n*i of a flattened address. With sizes fixed it can, and the count is that of the array as
it lies in memory, its first cell on a line.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import gcd
from typing import Any

import islpy as isl

from perfmodel.counts.counters.cardinality import Cardinalities
from perfmodel.counts.counters.footprint import Site
from perfmodel.counts.counters.lane_boxes import completed, sub_groups
from perfmodel.counts.counters.line_runs import lines_of, most_lines
from perfmodel.counts.program.program import Access, Domain
from perfmodel.counts.quasipoly.count import Count
from perfmodel.counts.quasipoly.evaluation import Term
from perfmodel.counts.quasipoly.translation import quasi_polynomial_of
from perfmodel.errors import ParameterError

SET, OUT, PARAM = isl.dim_type.set, isl.dim_type.out, isl.dim_type.param
UNITS = ("instance", "subgroup", "workgroup", "launch")
Key = tuple[int, int, int, int | None]  # launch, site, sub-group, cells of a line if not aligned


class Lines:
    """The distinct lines that some accesses to one array touch.

    Parameters
    ----------
    sites : list of (Domain, Access)
        The accesses and where they are executed.
    line_bytes : int
        Size of a cache line.
    sizes : mapping of str to int
        Values of all size parameters, or nothing.
    """

    def __init__(
        self, cardinalities: Cardinalities, sites: list[Site], line_bytes: int,
        sizes: Mapping[str, int],
    ) -> None:
        self.cardinalities = cardinalities
        self.sites = sites
        self.line_bytes = line_bytes
        self.sizes = sizes

    def count(self, per: str) -> Count:
        """Return the lines of each unit, summed over the units.

        ``"instance"`` is one execution of one access by one sub-group (its transactions); the
        other units are taken with everything that they touch during a launch.
        """
        if any(a.cells is None or domain.trips is not None for domain, a in self.sites):
            return self._bound()
        reached: dict[Key, isl.Set] = {}
        exact = True
        for number, (domain, access) in enumerate(self.sites):
            launch = self.cardinalities.program.launches[domain.launch]
            whole = completed(domain, launch)
            places, per_line, known = self._places(access, access.cells)
            exact = exact and known and domain.exact and access.cells_exact
            exact = exact and domain.chance == 1
            target = self._unit(whole, per).flat_range_product(places)
            site = number if per == "instance" else 0
            for part, points in self._parts(whole, per):
                key = (domain.launch, site, part, per_line)
                found = points.apply(target)
                reached[key] = reached[key].union(found) if key in reached else found
        total = self._total([
            one for key, touched in reached.items() for one in _counted(touched.coalesce(), key[-1])
        ])
        return Count(total.polynomial, total.assumptions, exact and total.exact, "line")

    def _parts(self, domain: Domain, per: str) -> list[tuple[int, isl.Set]]:
        """Return the instances of each sub-group of a group where units are sub-groups."""
        if per in ("workgroup", "launch"):
            return [(0, domain.points)]
        launch = self.cardinalities.program.launches[domain.launch]
        return [
            (number, domain.points.intersect(lanes))
            for number, lanes in sub_groups(domain, launch, self.cardinalities.subgroup_size)
        ]

    def _bound(self) -> Count:
        total = Count.constant(0)
        for domain, _ in self.sites:  # at most one line an execution
            total = total + self.cardinalities.count(domain)
        return Count(total.polynomial, total.assumptions, False, "line")

    def _total(self, sets: list[isl.Set]) -> Count:
        if not self.sizes:
            return self.cardinalities.wrap(self.cardinalities.total(sets), granularity="line")
        number = self.cardinalities.total([self._fixed(points) for points in sets])
        return Count(number.polynomial, exact=number.exact, granularity="line")

    def _fixed(self, points: isl.Set) -> isl.Set:
        for name, value in self.sizes.items():
            index = points.find_dim_by_name(PARAM, name)
            if index >= 0:
                points = points.fix_val(PARAM, index, isl.Val(value))
        return points.project_out(PARAM, 0, points.dim(PARAM))

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

    def _places(self, access: Access, cells: Any) -> tuple[isl.Map, int | None, bool]:
        """Return the map from an instance to (row, line), None, and whether that is exact.

        Where rows may begin inside a line, it is the map to (row, cell), the cells of a line, and
        False.
        """
        per_line = max(1, self.line_bytes * 8 // access.bits)
        axes = [f"x{k}" for k in range(len(access.strides))]
        if self.sizes:
            strides = [_value(stride, self.sizes) for stride in access.strides]
            aligned = set(quasi_polynomial_of(access.offset).parameters) <= set(self.sizes)
            offset = _value(access.offset, self.sizes) if aligned else 0
            products = [f"{s}*{x}" for s, x in zip(strides, axes, strict=True)]
            row, place = [], " + ".join([str(offset), *products])
        elif access.unit_axis is None:  # every cell on a line of its own
            return cells, None, not axes
        else:
            row = [x for k, x in enumerate(axes) if k != access.unit_axis]
            aligned, place = self._rows_aligned(access, per_line), axes[access.unit_axis]
        if aligned:
            place = f"floor(({place})/{per_line})"
        target = ", ".join([*row, place])
        places = cells.apply_range(isl.Map(f"{{ [{', '.join(axes)}] -> [{target}] }}"))
        return places, None if aligned else per_line, aligned

    def _rows_aligned(self, access: Access, per_line: int) -> bool:
        """Whether every row begins on a line: the offset and the other strides are whole lines."""
        assumptions = self.cardinalities.program.assumptions
        others = [s for k, s in enumerate(access.strides) if k != access.unit_axis]
        return all(_divisible(step, per_line, assumptions) for step in (access.offset, *others))


def _counted(touched: isl.Set, per_line: int | None) -> list[isl.Set]:
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


def _value(function: isl.PwQPolynomial, sizes: Mapping[str, int]) -> int:
    program = quasi_polynomial_of(function)
    for name in program.parameters:
        if name not in sizes:
            raise ParameterError(name, "was left out", program.parameters)
    return int(program.exact(*(sizes[name] for name in program.parameters)))


def _divisible(stride: isl.PwQPolynomial, by: int, assumptions: isl.Set) -> bool:
    """Whether a product of parameters is a multiple of ``by`` under the assumptions."""
    program = quasi_polynomial_of(stride)
    return not program.floors and all(
        _term_divisible(term, program.parameters, by, assumptions)
        for piece in program.pieces for term in piece.terms
    )


def _term_divisible(
    term: Term, parameters: tuple[str, ...], by: int, assumptions: isl.Set
) -> bool:
    if term.coefficient.denominator != 1:
        return False
    known = int(term.coefficient)
    for atom, exponent in term.powers:
        name = parameters[atom]
        multiples = [
            d for d in range(1, by + 1) if by % d == 0 and assumptions.is_subset(
                isl.Set(f"[{name}] -> {{ : {name} mod {d} = 0 }}")
            )
        ]
        known *= multiples[-1] ** exponent
    return gcd(known, by) == by
