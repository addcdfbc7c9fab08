"""Distinct cells (Algorithm 2 of Stevens and Klöckner) and cache lines that the accesses of a kernel touch.

isl cannot represent the product n*i of a flattened address. So lines are counted in index space, row by row, as if each
row began on a line. If strides are numbers, the lines are counted as in memory. If a row may begin anywhere in a line,
the count is an upper bound. A *unit* is what touches lines together: an instance, a sub-group, a work-group or a
launch. An *instance* is one access by one sub-group.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, reduce
from math import gcd

import islpy as isl

from perfmodel.counts.counters.executions import Cardinalities, completed, sub_groups
from perfmodel.counts.points.polytopes import Monomial
from perfmodel.counts.program.program import Access, Domain, LaneStride
from perfmodel.counts.quasipoly.arguments import held, left_out, parameters_of
from perfmodel.counts.quasipoly.count import Count
from perfmodel.counts.quasipoly.printing import quasi_polynomial_of

SET, IN, OUT, DIV, PARAM = isl.dim_type.set, isl.dim_type.in_, isl.dim_type.out, isl.dim_type.div, isl.dim_type.param
UNITS = ("instance", "subgroup", "workgroup", "launch")
MOST_DIVISOR = 4096  # largest divisor of parameters that is tested
Site = tuple[Domain, Access]
Key = tuple[int, int, int, int | None]  # launch, site, sub-group, cells per line (None if rows are aligned)


def doubts(domain: Domain, access: Access) -> tuple[str, ...]:
    """Return the reasons why the touched cells of an access are only an upper bound."""
    reasons = [*domain.doubts]
    if access.cells is None:
        reasons.append(f"data give the index of '{access.array}'")
    elif not access.cells_exact:
        reasons.append(f"two indices of '{access.array}' may be one cell")
    return tuple(reasons)


def all_doubts(sites: list[Site]) -> list[str]:
    return [doubt for domain, access in sites for doubt in doubts(domain, access)]


class Footprint:
    """The cells of one array that accesses touch. Those that depend on data are unknown in an array without a shape."""

    def __init__(self, sites: list[Site], cardinalities: Cardinalities) -> None:
        self._cardinalities = cardinalities
        self._sites = sites
        self._sample = min((access for _, access in sites), key=lambda access: access.bits)
        self._alike = all(_alike(self._sample, access) for _, access in sites)
        self._exact = self._alike and all(
            domain.exact and domain.chance == 1 and domain.trips is None and a.cells_exact for domain, a in sites
        )
        self._cells = self._union()

    @cached_property
    def _touching(self) -> tuple[tuple[isl.Set, isl.Map], ...]:
        """Return the distinct pairs of a set of instances and the map from this set to cells."""
        return tuple(dict.fromkeys((domain.points, access.cells) for domain, access in self._sites))

    def _union(self) -> isl.Set | None:
        if self._alike and self._sample.cells is not None:
            return reduce(isl.Set.union, (points.apply(cells) for points, cells in self._touching)).coalesce()
        shape = self._sample.shape  # of the whole array
        if shape is None or not all(extent.is_bounded() for extent in shape):
            return None
        return _box(shape).intersect_params(self._cardinalities.program.assumptions)

    @cached_property
    def count(self) -> Count:
        """Return the number of cells. If the cells are unknown, the number of executed accesses is an upper bound."""
        spans = [access.span for _, access in self._sites]
        observed = [span.cells for span in spans if span is not None and span.cells is not None]
        if len(observed) == len(spans) == 1:
            return Count.constant(observed[0], "cell")
        if self._cells is not None:
            return self._count(self._touching_once(self._cells) or self._cells)
        accesses = sum((self._cardinalities.count(domain) for domain, _ in self._sites), Count.constant(0))
        return accesses.labelled("cell", False, self._reasons)

    @property
    def _reasons(self) -> list[str]:
        reasons = all_doubts(self._sites)
        if all(access.cells is not None for _, access in self._sites) and not self._alike:
            reasons.append(f"'{self._sample.array}' is accessed in different sizes or layouts")
        return reasons

    def _touching_once(self, cells: isl.Set) -> isl.Set | None:
        """Return instances, one for each cell, if cells have several floors, as in ``a[i//4*8 + i%4]``, else None."""
        if all(basic.dim(DIV) < 2 for basic in cells.get_basic_sets()):
            return None
        if not self._alike or self._sample.cells is None or len(self._touching) > 1:
            return None
        ((points, map_),) = self._touching
        each = map_.intersect_domain(points)
        for k in reversed(range(each.dim(IN))):
            if not map_.involves_dims(IN, k, 1):
                each = each.project_out(IN, k, 1)
        return each.domain() if each.is_injective() else None

    def filled(self, stride: LaneStride) -> Count | None:
        """Return the number of cells if gaps are filled: the gaps that a lane stride leaves along the unit-stride axis.

        If a lane moves by ``s`` cells along this axis, the result is ``|F + {0 .. s-1}|``, with the touched cells F. If
        a lane moves along another axis, all cells of the touched rows count.
        """
        axis = self._sample.unit_axis
        if self._cells is None or axis is None:
            return None
        if stride.along_unit_axis is not None:
            return self._count(_widened(self._cells, axis, stride.along_unit_axis))
        if self._sample.shape is None:
            return None
        rows = self._cells.project_out(SET, axis, 1).insert_dims(SET, axis, 1)
        anywhere = isl.Set("{ [x] }")
        row = [self._sample.shape[axis] if k == axis else anywhere for k in range(rows.dim(SET))]
        return self._count(rows.intersect(_box(row)).coalesce())

    def filled_at(self, distance: Count) -> Count | None:
        """Return :meth:`filled` for a lane stride of this many cells, or None if no access has such a stride."""
        strides = (stride for _, access in self._sites for stride in access.lane_stride)
        alike = (stride for stride in strides if str(Count(stride.distance, granularity="cell")) == str(distance))
        stride = next(alike, None)
        return None if stride is None else self.filled(stride)

    def _count(self, cells: isl.Set) -> Count:
        number = self._cardinalities.size(cells)
        return self._cardinalities.wrap(number, exact=self._exact, granularity="cell", reasons=self._reasons)


def _alike(access: Access, twin: Access) -> bool:
    """Return whether accesses have equal sizes and layouts. Equal cells then have equal addresses."""
    if access.cells is None or twin.cells is None:
        return access.cells is twin.cells
    return access.bits == twin.bits and len(access.strides) == len(twin.strides) and all(
        stride is twin_stride or stride.plain_is_equal(twin_stride)
        for stride, twin_stride in zip(access.strides, twin.strides, strict=True)
    )


def _box(extents: Iterable[isl.Set]) -> isl.Set:
    return reduce(isl.Set.flat_product, extents, isl.Set("{ [] }"))


def _widened(cells: isl.Set, axis: int, width: int) -> isl.Set:
    axes = [f"x{k}" for k in range(cells.dim(SET))]
    moved = [*axes[:axis], "y", *axes[axis + 1:]]
    limits = f"{axes[axis]} <= y < {axes[axis]} + {width}"
    return cells.apply(isl.Map(f"{{ [{', '.join(axes)}] -> [{', '.join(moved)}] : {limits} }}")).coalesce()


@dataclass(frozen=True)
class Lines:
    """The distinct lines that accesses to one array touch. ``sizes`` is empty or has all parameters."""

    cardinalities: Cardinalities
    sites: list[Site]
    line_bytes: int
    sizes: Mapping[str, int]

    def count(self, per: str) -> Count:
        """Return the number of lines that each unit touches, summed over units."""
        if any(access.cells is None or domain.trips is not None for domain, access in self.sites):
            # bound: one line for each execution
            bound = sum((self.cardinalities.count(domain) for domain, _ in self.sites), Count.constant(0))
            return bound.labelled("line", False, all_doubts(self.sites))
        assumptions = self.cardinalities.program.assumptions
        line_maps = [line_map_of(access, self.line_bytes, self.sizes, assumptions) for _, access in self.sites]
        reasons = self._reasons(per, line_maps)
        total = self._total([
            part for key, cells in self._touched(per, line_maps).items()
            for part in _with_a_point_per_line(cells.coalesce(), key[-1])
        ])
        return total.labelled("line", total.exact and not reasons, reasons)

    def _reasons(self, per: str, line_maps: "list[LineMap]") -> list[str]:
        reasons = all_doubts(self.sites)
        array = self.sites[0][1].array
        if any(line_map.cells_per_line is not None for line_map in line_maps):
            reasons.append(f"a row of '{array}' may begin anywhere in a line")
        if per != "instance" and len({line_map.rows for line_map in line_maps}) > 1:
            reasons.append(f"rows of '{array}' that differ in length may share lines")
        return reasons

    def _touched(self, per: str, line_maps: "list[LineMap]") -> dict[Key, isl.Set]:
        """Return sets of (unit, row, line) or (unit, row, cell). Accesses share a set if their rows are the same."""
        touched: dict[Key, isl.Set] = {}
        layouts = [line_map.rows for line_map in line_maps]
        for number, ((domain, _), line_map) in enumerate(zip(self.sites, line_maps, strict=True)):
            whole = completed(domain, self.cardinalities.program.launches[domain.launch])
            axes_added = len(whole.axes) - len(domain.axes)  # at the end
            target = self._unit(whole, per).flat_range_product(line_map.of_points.add_dims(IN, axes_added))
            site = number if per == "instance" else layouts.index(layouts[number])
            for part, points in self._parts(whole, per):
                key = (domain.launch, site, part, line_map.cells_per_line)
                lines = points.apply(target)
                touched[key] = touched[key].union(lines) if key in touched else lines
        return touched

    def _parts(self, domain: Domain, per: str) -> Iterable[tuple[int, isl.Set]]:
        """Return the instances of each sub-group of a group. For a larger unit, return all instances as one part."""
        if per in ("workgroup", "launch"):
            return ((0, domain.points),)
        launch = self.cardinalities.program.launches[domain.launch]
        lanes = sub_groups(domain, launch, self.cardinalities.subgroup_size)
        return ((number, domain.points.intersect(own)) for number, own in lanes)

    def _unit(self, domain: Domain, per: str) -> isl.Map:
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
        count = Count(self.cardinalities.total(map(self._fixed, sets)), granularity="line")
        return count.at() if count.unexpanded else count  # all sizes are fixed

    def _fixed(self, points: isl.Set) -> isl.Set:
        points = held(points, self.sizes)
        fixed = points.project_out(PARAM, 0, points.dim(PARAM))
        missing = [name for name in parameters_of(points) if name not in self.sizes]
        if missing and not fixed.is_bounded():
            raise left_out(missing[0], self.cardinalities.program.parameters)
        return fixed


@dataclass(frozen=True)
class LineMap:
    """A map from the executed points of an access to the (row, line) of its cells.

    If rows may begin inside a line, the map is to (row, cell). ``rows`` has the distances of rows along each axis
    [bit].
    """

    of_points: isl.Map
    cells_per_line: int | None
    rows: tuple[str, ...]


def line_map_of(access: Access, line_bytes: int, sizes: Mapping[str, int], assumptions: isl.Set) -> LineMap:
    """Return the map from an access's points to lines. Axes with strides that are numbers form one row."""
    cells: isl.Map = access.cells
    part = gcd(line_bytes, access.bits // 8)  # cells of this size lie on one line each
    parts, per_line = access.bits // 8 // part, line_bytes // part
    axes = [f"x{k}" for k in range(len(access.strides))]
    strides = [stride.scale_val(isl.Val(parts)) for stride in access.strides]
    steps = _known_steps(strides, access.unit_axis, per_line, sizes, assumptions)
    rows = [k for k in range(len(axes)) if k not in steps]
    offset = 0
    offsets = [strides[k] for k in rows]
    if set(quasi_polynomial_of(access.offset).parameters) <= set(sizes):
        offset = parts * (value_at(access.offset, sizes) + access.shifted(sizes))
    else:
        offsets.append(access.offset.scale_val(isl.Val(parts)))
    aligned = all(divisible(step, per_line, assumptions) for step in offsets)
    line = " + ".join([str(offset), *(f"{step}*{axes[k]}" for k, step in steps.items())])
    if parts > 1:
        line += " + part"
    if aligned:
        line = f"floor(({line})/{per_line})"
    target = ", ".join([*(axes[k] for k in rows), "line"])
    where = f"line = {line}" if parts == 1 else f"exists part : 0 <= part < {parts} and line = {line}"
    lines = cells.apply_range(isl.Map(f"{{ [{', '.join(axes)}] -> [{target}] : {where} }}"))
    distances = tuple(str(access.strides[k].scale_val(isl.Val(access.bits))) for k in rows)
    return LineMap(lines, None if aligned else per_line, distances)


def _known_steps(
    strides: list[isl.PwQPolynomial], unit_axis: int | None, per_line: int, sizes: Mapping[str, int],
    assumptions: isl.Set,
) -> dict[int, int]:
    """Return the strides of the axes that form one row.

    An axis is left out if its stride and all longer strides are whole lines: separate rows are simpler to count. Known
    strides can be combined with symbolic strides only if each known stride divides all symbolic strides.
    """
    if sizes:
        return {k: value_at(stride, sizes) for k, stride in enumerate(strides)}
    functions = [quasi_polynomial_of(stride) for stride in strides]
    known = {k: int(function.exact()) for k, function in enumerate(functions) if not function.parameters}
    symbolic = [stride for k, stride in enumerate(strides) if k not in known]
    if symbolic and not all(
        step and all(divisible(stride, step, assumptions) for stride in symbolic) for step in known.values()
    ):
        return {k: step for k, step in known.items() if k == unit_axis}
    for k in sorted(known, key=lambda k: -abs(known[k])):
        if known[k] % per_line or k == unit_axis:
            break
        del known[k]
    return known


def value_at(function: isl.PwQPolynomial, sizes: Mapping[str, int]) -> int:
    known = quasi_polynomial_of(function)
    for name in known.parameters:
        if name not in sizes:
            raise left_out(name, known.parameters)
    return int(known.exact(*(sizes[name] for name in known.parameters)))


def divisible(function: isl.PwQPolynomial, by: int, assumptions: isl.Set) -> bool:
    """Return whether a polynomial in parameters is provably a multiple of ``by`` under the assumptions."""
    known = quasi_polynomial_of(function)
    if known.floors:
        known = quasi_polynomial_of(function.gist_params(assumptions))
    return not known.floors and all(
        _term_divisible(coefficient, monomial, by, assumptions)
        for piece in known.pieces for monomial, coefficient in piece.value.terms.items()
    )


def _term_divisible(coefficient: Fraction, monomial: Monomial, by: int, assumptions: isl.Set) -> bool:
    factor, by = coefficient.numerator, by * coefficient.denominator
    for name, exponent in monomial:
        divisors = [
            d for d in range(1, min(by, MOST_DIVISOR) + 1)
            if by % d == 0 and assumptions.is_subset(isl.Set(f"[{name}] -> {{ : {name} mod {d} = 0 }}"))
        ]
        factor *= divisors[-1] ** exponent
    return gcd(factor, by) == by


def _with_a_point_per_line(touched: isl.Set, per_line: int | None) -> list[isl.Set]:
    """Return sets that together have at least as many points as there are lines.

    If ``per_line`` is None, the points are lines. Otherwise the points are cells of rows that may begin anywhere in a
    line. The first rule that applies gives the result:

    - If a constant bounds the lines of a row, each row counts as this number of lines.
    - If the lines of each row are consecutive, a row counts as if it began on a line, and as one line more.
    - If cells are at least a line from each other, each cell counts as a line.
    - In all other cases the result is :func:`lines_anywhere`.
    """
    if per_line is None:
        return [touched]
    rows = touched.project_out(SET, touched.dim(SET) - 1, 1)
    most = most_lines(touched, per_line)
    if most is not None:
        return [rows] * most
    lines = lines_of(touched, per_line)
    if _consecutive(lines):
        return [lines, rows]
    each_on_its_own = _distances(touched).intersect(isl.Set(f"{{ [d] : 0 < d < {per_line} }}")).is_empty()
    return [touched if each_on_its_own else lines_anywhere(touched, per_line)]


def lines_of(cells: isl.Set, per_line: int) -> isl.Set:
    axes = [f"x{k}" for k in range(cells.dim(SET))]
    target = [*axes[:-1], f"floor({axes[-1]}/{per_line})"]
    return cells.apply(isl.Map(f"{{ [{', '.join(axes)}] -> [{', '.join(target)}] }}"))


def lines_anywhere(cells: isl.Set, per_line: int) -> isl.Set:
    """Return a set with at least as many points as the lines that rows touch, wherever the rows begin in a line.

    If the row of a cell begins on a line, the cell is on a known line. Otherwise the cell is on this line or the next.
    """
    lines = lines_of(cells, per_line)
    axes = [f"x{k}" for k in range(lines.dim(SET))]
    after = isl.Map(f"{{ [{', '.join(axes)}] -> [{', '.join([*axes[:-1], axes[-1] + ' + 1'])}] }}")
    return lines.union(lines.apply(after)).coalesce()


def most_lines(cells: isl.Set, per_line: int) -> int | None:
    r"""Return the largest number of lines that the cells of one row touch, wherever in a line the row begins.

    Let :math:`d` be the distance between the first and the last cell. If a line has :math:`L` cells, the cells touch at
    most :math:`\lceil d / L \rceil + 1` lines. The result is None if no constant bounds the distance, or if untouched
    lines lie between the cells.
    """
    distance = _distances(cells).dim_max_val(0)
    if not distance.is_int():
        return None
    most = -(-int(distance.to_python()) // per_line) + 1
    return most if most <= 2 or _consecutive(lines_of(cells, per_line)) else None


def _distances(cells: isl.Set) -> isl.Set:
    row = isl.Map.from_range(cells).move_dims(IN, 0, OUT, 0, cells.dim(SET) - 1)
    return row.reverse().apply_range(row).deltas()


def _consecutive(lines: isl.Set) -> bool:
    row = isl.Map.from_range(lines).move_dims(IN, 0, OUT, 0, lines.dim(SET) - 1)
    upwards = isl.Map("{ [x] -> [y] : y >= x }")
    between = row.apply_range(upwards).intersect(row.apply_range(upwards.reverse()))
    return bool(between.is_subset(row))
