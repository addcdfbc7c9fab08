"""Accesses as values: index expressions become isl maps, with the array's layout and the distances between lanes.

isl cannot represent a product of a parameter and a variable. A flattened index such as ``a[n*i + j]`` is therefore
split into axes: column j of row i, where rows have n cells.

The *distance* of a lane is the address of the next lane minus the lane's address, along local axis 0. The last lane has
the distance of the previous lane. An access with several distances is divided into parts of one distance each.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache, lru_cache, reduce
from math import prod
from typing import Any

import islpy as isl
import loopy as lp
import numpy as np
import pymbolic.primitives as p
from loopy.kernel.array import FixedStrideArrayDimTag, SeparateArrayArrayDimTag
from pymbolic.mapper.evaluator import CachedEvaluationMapper

from perfmodel.counts.points.polytopes import Polynomial
from perfmodel.counts.program.program import SPAN, Access, Domain, IndexSpan, LaneStride, Statistic
from perfmodel.counts.reading import values
from perfmodel.counts.reading.domains import Domains, affine_form, names_in, pw_aff, pw_affs
from perfmodel.errors import CountError

SET, PARAM = isl.dim_type.set, isl.dim_type.param
SEPARATE = 2**40  # cells from one part of an array with ``dim_tags="sep"`` to the next: longer than any part
MOST_DISTANCES = 64  # an access with more different distances is treated as indirect
LARGE = 1 << 12  # the sign of a stride is its sign at this size
Monomial = tuple[str, ...]  # parameters, sorted, repeated as often as they are multiplied
LaneStep = tuple[isl.Set | None, Any]  # the points (None: all), and the difference of the index between lanes


@dataclass(frozen=True)
class Layout:
    strides: tuple[Any, ...]  # in units of the access
    shape: tuple[Any, ...] | None = None

    @property
    def unit_axis(self) -> int | None:
        units = [k for k, stride in enumerate(self.strides) if stride == 1]
        return units[-1] if units else None

    def of_vectors(self, axis: int, length: int) -> Layout:
        """Return the layout of an array whose cells are vectors along ``axis``."""
        strides = tuple(
            stride // length if isinstance(stride, int) else p.FloorDiv(stride, length)
            for stride in _without(self.strides, axis)
        )
        return Layout(strides, None if self.shape is None else _without(self.shape, axis))

    def of_member(self, indices: tuple[Any, ...], parts: int, part: int) -> tuple[tuple[Any, ...], Layout]:
        """Return the indices and the layout of a member of each cell. A cell has ``parts`` parts of equal size.

        ``a[i].s1`` of float4 is cell 4*i + 1 of an array of float. ``a[n*i + j].s1`` is split, so it is cell (n*i + j,
        1).
        """
        axis = self.unit_axis
        strides = tuple(parts * stride for stride in self.strides)
        if axis is None or affine_form(indices[axis]) is None:
            return (*indices, part), Layout((*strides, 1), None if self.shape is None else (*self.shape, parts))
        moved = (*indices[:axis], parts * indices[axis] + part, *indices[axis + 1:])
        extents = None if self.shape is None else tuple(
            parts * extent if k == axis and extent is not None else extent for k, extent in enumerate(self.shape)
        )
        return moved, Layout((*strides[:axis], 1, *strides[axis + 1:]), extents)


@dataclass(frozen=True)
class Resolved:
    """An index tuple at the points of a domain. The fields are as in :class:`Access`."""

    layout: Layout
    cells: isl.Map | None
    exact: bool
    shape: tuple[isl.Set, ...] | None
    lane_strides: tuple[LaneStride, ...]
    moves: isl.Map | None = None
    drifts: bool = False
    chosen: str = ""
    chosen_by: tuple[str, ...] = ()


class Indexing:
    """Makes :class:`Access` values for one kernel."""

    def __init__(self, kernel: lp.LoopKernel, domains: Domains) -> None:
        self.kernel, self.domains = kernel, domains
        line = isl.Set.universe(domains.assumptions.get_space()).from_params().add_dims(SET, 1)
        self.line = line.set_dim_name(SET, 0, "x")
        self._resolved: dict[object, Resolved] = {}
        self._most: dict[str, tuple[isl.Set, ...]] = {}  # by the key of a statistic: the extents that limit it
        self.uniform = uniform_scalars(kernel, domains.axes)
        self.writers = kernel.writer_map()
        self.wide = frozenset(arg.name for arg in kernel.args if values.is_wide(arg))
        self.layout = cache(self._layout)
        self.extents = cache(self._extents)

    def access(self, event: values.AccessEvent, domain: Domain, width: int) -> Access:
        """Return the access of an event at the points of a domain. There are ``width`` lanes along local axis 0."""
        variable = self.kernel.get_var_descriptor(event.array)
        linear = bool(event.indices) and isinstance(event.indices[0], lp.symbolic.LinearSubscript)
        indices = (event.indices[0].index,) if linear else event.indices
        layout, length, parts = self.layout(event.array, linear), 1, 1
        if event.vector_axis is not None:
            length = values.cells_along(variable.shape[event.vector_axis], variable.dim_tags[event.vector_axis])
            indices = _without(indices, event.vector_axis)
            layout = layout.of_vectors(event.vector_axis, length)
        dtype, offset = values.memory_type(variable), values.offset_of(self.kernel, variable)
        if event.member:
            dtype, parts, part = _member(event, dtype)
            indices, layout = layout.of_member(indices, parts, part)
            offset = parts * offset if offset else 0
        key, lanes = (id(domain), indices, layout), Lanes(domain, width, self.domains.parameters)
        if key not in self._resolved:
            self._resolved[key] = self._resolve(lanes, indices, layout)
        resolved, parameters = self._resolved[key], self.domains.parameters
        name = values.offset_argument(self.kernel, variable)
        shift = (name, parts) if name and name not in parameters else None
        walks = self._walks(domain, indices, resolved.layout)
        widened = self._is_widened(lanes.iname, offset, layout, indices)
        known = resolved.cells is not None or walks or (resolved.moves is not None and not resolved.drifts)
        span = None if known else self._span(event.array, domain, indices)
        if resolved.shape is not None and (walks or span):
            along = resolved.layout.unit_axis or 0
            statistic, axes = (f"{event.array}{SPAN}", span.axes) if span else (str(indices[along]), (along,))
            self._most.setdefault(statistic, tuple(resolved.shape[axis] for axis in axes))
        return Access(
            values.space_of(variable), event.direction, event.array, values.type_name(dtype),
            dtype.itemsize * 8 * length, resolved.cells, resolved.exact, resolved.shape, resolved.layout.unit_axis,
            resolved.lane_strides, tuple(quasi_polynomial(stride, parameters) for stride in resolved.layout.strides),
            quasi_polynomial(0 if shift else offset, parameters), shift, walks, span,
            str(indices[resolved.layout.unit_axis or 0]) if walks and len(domain.means) > 1 else "", resolved.moves,
            resolved.drifts, resolved.chosen, resolved.chosen_by, widened,
        )

    def _is_widened(self, lane: str, offset: Any, layout: Layout, indices: tuple[Any, ...]) -> bool:
        """Return whether a 64-bit size is left of the iname `lane` in the address. C adds from the left."""
        wide = self.wide & names_in(offset)
        for stride, index in zip(layout.strides, indices, strict=False):
            for term in index.children if isinstance(index, p.Sum) else (index,):
                names = names_in(term)
                if lane in names:
                    return bool(wide)
                if names - self.wide:  # Loopy puts a size that nothing multiplies at the end
                    wide |= self.wide & (names | names_in(stride))
        return False

    def statistics(self) -> tuple[Statistic, ...]:
        bounds = {name: self.domains.values_without_data(name) for name in sorted(self.domains.data_inames)}
        most = self._most | {name: (points,) for name, points in bounds.items() if points is not None}
        return tuple(
            Statistic(key, value, most[key]) for key, value in self.domains.statistics.items()
            if key in most and all(extent.is_bounded() for extent in most[key])
        )

    def _span(self, array: str, domain: Domain, indices: tuple[Any, ...]) -> IndexSpan | None:
        """Return the locality of an array's data-dependent indices, or None if statistics have no span of the array."""
        key = f"{array}{SPAN}"
        if array not in self.domains.private:
            self.domains.keys[key] = None
        observed = self.domains.observed
        if key not in self.domains.statistics and (observed is None or array in self.domains.private):
            return None
        known = {*domain.names, *self.domains.parameters}
        axes = tuple(axis for axis, index in enumerate(indices) if not known.issuperset(names_in(index)))
        axes = axes or tuple(range(len(indices)))
        span, cells = self.domains.statistics.get(key), None
        if observed is not None:
            inames = (*domain.names, *(name for name, _ in domain.means))
            lanes = tuple(name for name, axis in zip(domain.names, domain.axes, strict=True) if axis)
            if span is None:
                span = observed.span(key, tuple(indices[axis] for axis in axes), inames, lanes)
            whole = self.domains.domain(domain.launch, inames)
            if domain.chance == 1 and domain.points.plain_is_equal(whole.points):
                cells = observed.cells(indices, inames)
        return None if span is None else IndexSpan(span, axes, cells)

    def _walks(self, domain: Domain, indices: tuple[Any, ...], layout: Layout) -> bool:
        """Return whether a data-dependent loop goes along adjacent cells. The index may depend on no other data."""
        known = {*domain.names, *self.domains.parameters}
        by_data = [str(index) for index in indices if not known.issuperset(names_in(index))]
        if len(by_data) != 1 or len(layout.strides) != len(indices):
            return False
        return by_data[0] in self.domains.data_inames and by_data[0] == str(indices[layout.unit_axis or 0])

    def _layout(self, array: str, linear: bool) -> Layout:
        variable = self.kernel.get_var_descriptor(array)
        if not linear and variable.shape == ():
            return Layout((), ())
        if linear or variable.dim_tags is None:  # an array of unknown shape has one axis
            return Layout((1,))
        strides = tuple(_axis_stride(variable, axis) for axis in range(len(variable.dim_tags)))
        return Layout(strides, variable.shape if isinstance(variable.shape, tuple) else None)

    def _resolve(self, lanes: Lanes, indices: tuple[Any, ...], layout: Layout) -> Resolved:
        domain = lanes.domain
        extents = self.extents(layout.shape)
        data = {name for index in indices for name in names_in(index)} - {*domain.names, *self.domains.parameters}
        if data:
            loops = data & {name for name, _ in domain.means}
            sources = (data - loops).union(*(self.domains.starts[name] for name in loops))
            if data != loops:
                strides = lanes.strides(indices, layout) if self._are_shared(sources, domain) else ()
                unknown = Resolved(layout, None, False, extents, strides)
                return self._chosen(lanes, indices, unknown) or unknown
            found = self._resolve(lanes.with_loops, indices, layout)
            strides = found.lane_strides if self._are_shared(sources, domain) else ()
            return replace(
                found, cells=None, exact=False, lane_strides=strides, moves=found.cells, drifts=bool(sources)
            )
        split = [_axes_of(index, domain.names) for index in indices]
        if any(len(axes) > 1 for axes in split):
            return self._flattened(lanes, split, layout)
        strides = lanes.strides(indices, layout)
        cells = self._cells(domain.points, indices)
        return Resolved(layout, cells, cells is not None, extents, strides)

    def _chosen(self, lanes: Lanes, indices: tuple[Any, ...], unknown: Resolved) -> Resolved | None:
        """Return what is known of indices such as ``(idx[e], j)``: how inames that are not in ``idx[e]`` move them.

        Return None unless each index is the sum of an affine part and of parts that data decide.
        """
        domain, loops = lanes.domain, {name for name, _ in lanes.domain.means}
        parts = _Parts({*domain.names, *loops, *self.domains.parameters})
        rest = [affine_form(parts(index)) for index in indices]
        depends = [self._inames_of(part, domain) for part in parts.found]
        if domain.tied or None in rest or None in depends:
            return None
        inames = set[str]().union(*(each for each in depends if each is not None))
        zeros = tuple(_Parts(parts.known, dict.fromkeys(parts.found, 0))(index) for index in indices)
        found = self._resolve(lanes.with_loops, zeros, unknown.layout)
        if found.layout != unknown.layout or found.cells is None:
            return None
        moved = loops.intersection(name for form in rest if form for name in form)
        starts = set[str]().union(*(self.domains.starts[name] for name in moved))
        alike = lanes.iname and lanes.iname not in inames and self._are_shared(starts, domain)
        return replace(
            unknown, lane_strides=found.lane_strides if alike else unknown.lane_strides, moves=found.cells, drifts=True,
            chosen=", ".join(map(str, parts.found)), chosen_by=tuple(sorted(inames)),
        )  # fmt: skip

    def _are_shared(self, names: Iterable[str], domain: Domain) -> bool:
        """Return whether some scalars are equal along local axis 0 at the points of a domain."""
        around = {*domain.names} - domain.tied
        return all(name in self.uniform and self.uniform[name] <= around for name in names)

    def _inames_of(self, part: Any, domain: Domain) -> set[str] | None:
        """Return the inames on which a part of an index depends, or None if the kernel changes an array in it."""
        inames: set[str] = set()
        loops = {name for name, _ in domain.means}
        for name in lp.symbolic.get_dependencies(part) - {*self.domains.parameters}:
            writers = self.writers.get(name, ())
            if name in self.uniform and self.uniform[name] <= {*domain.names, *loops} - domain.tied:
                inames |= self.uniform[name]
            elif name in domain.names or name in loops:
                starts = [self._inames_of(p.Variable(start), domain) for start in self.domains.starts.get(name, ())]
                if None in starts:
                    return None
                inames |= {name}.union(*(each for each in starts if each is not None))
            elif name in self.kernel.temporary_variables and self.kernel.temporary_variables[name].shape == ():
                inames |= set[str]().union(*(self.kernel.id_to_insn[writer].within_inames for writer in writers))
            elif name not in self.kernel.arg_dict or writers:
                return None
        return inames

    def _flattened(self, lanes: Lanes, split: list[tuple[IndexAxis, ...]], layout: Layout) -> Resolved:
        """Return indices such as n*i + j, split into axes, as resolved indices."""
        parts: list[Any] = []
        strides: list[Any] = []
        shape: list[isl.Set] = []
        exact = True
        for axes, stride in zip(split, layout.strides, strict=True):
            indices, inside = self._carried(lanes.domain, axes)
            exact = exact and inside
            for axis, index in zip(axes, indices, strict=True):
                parts.append(index)
                strides.append(axis.stride * stride)
                extent = None if axis.extent is None else self.extents((axis.extent,))
                shape.append(self.line if extent is None else extent[0])
        whole = Layout(tuple(strides))
        steps = lanes.strides(tuple(parts), whole)
        return Resolved(whole, self._cells(lanes.domain.points, tuple(parts)), exact, tuple(shape), steps)

    def _carried(self, domain: Domain, axes: tuple[IndexAxis, ...]) -> tuple[list[Any], bool]:
        """Return the indices in their ranges, if possible: ``(i + 1, -1 - j)`` becomes ``(i, m - 1 - j)``."""
        indices = [axis.index for axis in axes]
        inside = True
        for k in reversed(range(1, len(axes))):
            extent = axes[k].extent
            limits = self.extents((extent,))
            start = (affine_form(indices[k - 1]) or {}).get("", 0)
            for carry in dict.fromkeys((0, start, 1, -1)):
                moved = indices[k] + carry * extent if carry else indices[k]
                cells = self._cells(domain.points, (moved,))
                if cells is not None and limits is not None and domain.points.apply(cells).is_subset(limits[0]):
                    indices[k - 1 : k + 1] = [indices[k - 1] - carry if carry else indices[k - 1], moved]
                    break
            else:
                inside = False
        return indices, inside

    def _cells(self, points: isl.Set, indices: tuple[Any, ...]) -> isl.Map | None:
        """Return the map from points to cells, or None if an index is not quasi-affine."""
        space = points.get_space()
        try:
            axes = pw_affs(space, indices)
        except lp.diagnostic.ExpressionToAffineConversionError:
            return None
        cells = isl.MultiPwAff.zero(space.from_domain().add_dims(isl.dim_type.out, len(axes)))
        for axis, index in enumerate(axes):
            cells = cells.set_pw_aff(axis, index)
        return isl.Map.from_multi_pw_aff(cells)

    def _extents(self, shape: tuple[Any, ...] | None) -> tuple[isl.Set, ...] | None:
        if shape is None or None in shape:  # the user left an extent open
            return None
        space = self.line.get_space()
        cell = isl.PwAff.from_aff(isl.Aff.var_on_domain(isl.LocalSpace.from_space(space), SET, 0))
        least = self.line.lower_bound_val(SET, 0, isl.Val(0))
        try:
            extents = pw_affs(space, shape)
        except lp.diagnostic.ExpressionToAffineConversionError:
            return None
        return tuple(least.intersect(cell.lt_set(extent)) for extent in extents)


class _Parts(lp.symbolic.IdentityMapper):  # type: ignore[misc]
    """Replaces the parts of an index that data decide by variables, or by given values, and keeps the parts."""

    def __init__(self, known: Collection[str], values: Mapping[Any, Any] = {}) -> None:
        super().__init__()
        self.known, self.values = known, values
        self.found: dict[Any, Any] = {}

    def map_variable(self, expr: p.Variable) -> Any:
        return expr if expr.name in self.known else self._replaced(expr)

    def map_subscript(self, expr: p.Subscript) -> Any:
        return self._replaced(expr)

    def _replaced(self, expr: Any) -> Any:
        found = self.found.setdefault(expr, p.Variable(f"_chosen_{len(self.found)}"))
        return self.values.get(expr, found)


def _axis_stride(variable: Any, axis: int) -> Any:
    """Return the distance of neighbours along an axis, in cells. Separate arrays are very far apart."""
    tag = variable.dim_tags[axis]
    if isinstance(tag, SeparateArrayArrayDimTag):
        inner = zip(variable.dim_tags[axis + 1:], variable.shape[axis + 1:], strict=True)
        return SEPARATE * prod(extent for other, extent in inner if isinstance(other, SeparateArrayArrayDimTag))
    return tag.stride if isinstance(tag, FixedStrideArrayDimTag) else 1


def _member(event: values.AccessEvent, whole: values.Type[Any]) -> tuple[values.Type[Any], int, int]:
    """Return the type of a member, the number of members of its size in the whole type, and the member's position."""
    member, byte = values.member_of(whole, event.member)
    if whole.itemsize % member.itemsize or byte % member.itemsize:
        name = f"{event.array}[...].{'.'.join(event.member)}"
        where = f"at byte {byte} of a type of {whole.itemsize} bytes"
        problem = f"the {member.itemsize} bytes of {name} begin {where}"
        raise CountError(problem, "align the members of the type")
    return member, whole.itemsize // member.itemsize, byte // member.itemsize


def _without(items: tuple[Any, ...], position: int) -> tuple[Any, ...]:
    return (*items[:position], *items[position + 1 :])


@dataclass(frozen=True)
class IndexAxis:
    """One axis of a flattened index. The values are expressions of pymbolic."""

    index: Any  # affine in the inames
    stride: Any  # a product of parameters
    extent: Any  # above the index, so that axes do not overlap; None for the first axis


def _axes_of(index: Any, names: tuple[str, ...]) -> tuple[IndexAxis, ...]:
    """Return the axes into which an index can be split, slowest first. If no split works, return it as one axis."""
    whole = (IndexAxis(index, 1, None),)
    coefficients = None if affine_form(index) is not None else _coefficients(index, names)
    if coefficients is None:
        return whole
    parts: dict[Monomial, Any] = {(): 0}
    for variable, coefficient in coefficients.items():
        polynomial = _polynomial(coefficient)
        if polynomial is None:
            return whole
        for powers, factor in polynomial.terms.items():
            monomial = tuple(sorted(str(name) for name, power in powers for _ in range(power)))
            parts[monomial] = parts.get(monomial, 0) + int(factor) * variable
    if all(isinstance(part, (int, np.integer)) for monomial, part in parts.items() if monomial):
        return whole
    ranked = sorted(parts, key=len)
    axes = []
    for low, high in zip(ranked, [*ranked[1:], None], strict=True):
        rest = None if high is None else Counter(high)
        if rest is not None:
            rest.subtract(low)
            if min(rest.values()) < 0:  # the larger stride is not a multiple of the smaller one
                return whole
        extent = None if rest is None else prod(map(p.Variable, sorted(rest.elements())))
        axes.append(IndexAxis(parts[low], prod(map(p.Variable, low)), extent))
    return tuple(reversed(axes))


def _coefficients(index: Any, names: tuple[str, ...]) -> Mapping[Any, Any] | None:
    try:
        return lp.symbolic.CoefficientCollector(list(names))(lp.symbolic.flatten(index))
    except (lp.diagnostic.ExpressionNotAffineError, RuntimeError, ValueError, NotImplementedError):
        return None


def _polynomial(expr: Any) -> Polynomial | None:
    if isinstance(expr, (int, np.integer)):
        return Polynomial.constant(int(expr))
    if isinstance(expr, p.Variable):
        return Polynomial.atom(expr.name)
    if not isinstance(expr, (p.Sum, p.Product)):
        return None
    parts = [_polynomial(child) for child in expr.children]
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    return reduce(operator.add if isinstance(expr, p.Sum) else operator.mul, known)


class Lanes:
    """The lanes of one domain. There are ``width`` lanes along local axis 0."""

    def __init__(self, domain: Domain, width: int, parameters: tuple[str, ...]) -> None:
        self.domain, self.width, self.parameters = domain, width, parameters
        self.position = domain.axes.index("l.0") if "l.0" in domain.axes else None
        self.iname = "" if self.position is None else domain.names[self.position]

    @property
    def with_loops(self) -> Lanes:
        """The lanes of the domain with a dimension for each data-bounded loop (:attr:`Domain.with_loops`)."""
        domain = self.domain
        axes = (*domain.axes, *("" for _ in domain.means))
        return Lanes(replace(domain, points=domain.with_loops, axes=axes, means=()), self.width, self.parameters)

    def strides(self, indices: tuple[Any, ...], layout: Layout) -> tuple[LaneStride, ...]:
        """Return the distances between lanes. The result is empty if the distances depend on data."""
        if self.position is None or not indices:
            return (LaneStride(quasi_polynomial(0, self.parameters), None, 0),)
        parts: list[tuple[isl.Set | None, tuple[Any, ...]]] = [(None, ())]
        for index in indices:
            steps = self.steps(index)
            parts = [(_both(where, here), (*taken, step)) for where, taken in parts for here, step in steps]
        return tuple(
            self.stride(taken, layout, where) for where, taken in parts
            if where is None or not where.intersect(self.domain.points).is_empty()
        )

    def steps(self, index: Any) -> list[LaneStep]:
        """Return the differences of ``index`` between a lane and the next. Each difference comes with its points."""
        if self.domain.tied:
            return self.steps_by_relation(index)
        if (form := affine_form(index)) is not None:
            return [(None, form.get(self.iname, 0))]
        if (coefficients := _coefficients(index, self.domain.names)) is not None:
            return [(None, coefficients.get(p.Variable(self.iname), 0))]
        return self.steps_by_relation(index)

    def steps_by_relation(self, index: Any) -> list[LaneStep]:
        try:
            here = isl.Map.from_pw_aff(pw_aff(self.domain.points.get_space(), index))
        except lp.diagnostic.ExpressionToAffineConversionError:
            return []
        ahead = _difference(here, self.neighbours(1)).union(_difference(here, self.neighbours(-1), backwards=True))
        ahead = ahead.intersect_domain(self.domain.points)
        distances = ahead.range()
        distances = distances.project_out(PARAM, 0, distances.dim(PARAM))
        if not distances.is_bounded() or distances.is_empty() or distances.count_val().to_python() > MOST_DISTANCES:
            return []
        members: list[int] = []
        distances.foreach_point(lambda point: members.append(point.get_coordinate_val(SET, 0).to_python()))
        return [
            (ahead.intersect_range(isl.Set(f"{{ [{value}] }}")).domain(), value) for value in sorted(members, key=abs)
        ]

    def neighbours(self, step: int) -> isl.Map:
        """Return pairs of instances of lanes l and l + step. If step is -1, l is only the last lane."""
        points, names, lane = self.domain.points, self.domain.names, self.position
        tests = [f"e{lane} = d{lane} + {step}", f"d{lane} {'<' if step > 0 else '>='} {max(self.width - 1, 1)}"]
        tests += [f"d{k} = e{k}" for k, name in enumerate(names) if k != lane and name not in self.domain.tied]
        here, there = (", ".join(f"{letter}{k}" for k in range(len(names))) for letter in "de")
        pairs = isl.Map(f"{{ [{here}] -> [{there}] : {' and '.join(tests)} }}")
        pairs = pairs.align_params(isl.Space.map_from_set(points.get_space()))
        for k, name in enumerate(names):
            pairs = pairs.set_dim_name(isl.dim_type.in_, k, name).set_dim_name(isl.dim_type.out, k, name)
        return pairs.intersect_range(points) if self.domain.tied else pairs

    def stride(self, steps: tuple[Any, ...], layout: Layout, within: isl.Set | None) -> LaneStride:
        """Return the distance of steps along the axes, as a formula that is not negative at large sizes."""
        distance: Any = 0
        for step, stride in zip(steps, layout.strides, strict=True):
            distance = distance + step * stride
        along, axis = None, layout.unit_axis
        if axis is not None and all(step == 0 for k, step in enumerate(steps) if k != axis):
            along = abs(int(steps[axis])) if isinstance(steps[axis], (int, np.integer)) else None
        magnitude = quasi_polynomial(distance, self.parameters)
        if magnitude.eval_with_dict(dict.fromkeys(self.parameters, LARGE)) < 0:
            magnitude = magnitude.neg()
        return LaneStride(magnitude, within, along)


def _difference(here: isl.Map, pairs: isl.Map, backwards: bool = False) -> isl.Map:
    there = pairs.apply_range(here)
    first, second = (there, here) if backwards else (here, there)
    return first.flat_range_product(second).apply_range(isl.Map("{ [a, b] -> [b - a] }"))


def _both(left: isl.Set | None, right: isl.Set | None) -> isl.Set | None:
    return right if left is None else left if right is None else left.intersect(right)


@lru_cache(maxsize=1024)
def quasi_polynomial(expr: Any, parameters: tuple[str, ...]) -> isl.PwQPolynomial:
    """Return an expression as a quasi-polynomial of the parameters in this expression."""
    if isinstance(expr, (int, np.integer)):
        return isl.PwQPolynomial(f"{{ {int(expr)} }}")
    used = names_in(expr)
    names = [name for name in parameters if name in used]
    space = isl.Space.create_from_names(isl.DEFAULT_CONTEXT, set=[], params=names)
    if affine_form(expr) is not None:
        function = isl.PwQPolynomial.from_pw_aff(pw_aff(space, expr))
    else:
        function = _QuasiPolynomial(space)(expr)
    if not function.get_domain_space().is_params():
        function = function.project_domain_on_params()
    return function.drop_unused_params()


class _QuasiPolynomial(CachedEvaluationMapper):  # type: ignore[misc]
    def __init__(self, space: isl.Space) -> None:
        super().__init__({})
        self.space = space

    def map_affine(self, expr: Any) -> isl.PwQPolynomial:
        return isl.PwQPolynomial.from_pw_aff(pw_aff(self.space, expr))

    map_constant = map_variable = map_floor_div = map_remainder = map_quotient = map_affine

    def map_power(self, expr: p.Power) -> isl.PwQPolynomial:
        if not isinstance(expr.exponent, (int, np.integer)):
            raise TypeError(f"the exponent of '{expr}' is not an integer")
        return self.rec(expr.base) ** int(expr.exponent)


def uniform_scalars(kernel: lp.LoopKernel, axes: Mapping[str, str]) -> Mapping[str, frozenset[str]]:
    """Return the private scalars that are equal along local axis 0, with the loops around their writes.

    An example is ``box = list[g, k]``. An address that uses such a scalar depends on data, but the distance between
    lanes does not. Each write to the scalar is unconditional. The written value depends only on loops that are not on
    local axis 0, on arguments that the kernel does not write, and on other such scalars. Outside of the loops around
    its writes a scalar may differ, since lanes leave a loop at different iterations. ``axes`` are the hardware axes of
    inames.
    """
    written = {name for instruction in kernel.instructions for name in instruction.assignee_var_names()}
    shared = frozenset(kernel.arg_dict.keys() - written)
    loops: dict[str, frozenset[str]] = {}
    needs: dict[str, list[tuple[frozenset[str], frozenset[str]]]] = {}  # of each write: names it reads, and its loops
    for instruction in kernel.instructions:
        around = frozenset(name for name in instruction.within_inames if axes[name] != "l.0")
        plain = isinstance(instruction, lp.Assignment) and not instruction.predicates
        for name in instruction.assignee_var_names():
            variable = kernel.temporary_variables.get(name)
            if variable is not None and variable.shape == () and variable.address_space == lp.AddressSpace.PRIVATE:
                reads = lp.symbolic.get_dependencies(instruction.expression) if plain else frozenset({""})
                needs.setdefault(name, []).append((reads - shared - around, around))
                loops[name] = loops.get(name, frozenset()) | around
    uniform: dict[str, frozenset[str]] = {}
    while more := [
        name for name in needs.keys() - uniform
        if all(source in uniform and uniform[source] <= around for reads, around in needs[name] for source in reads)
    ]:
        uniform.update((name, loops[name]) for name in more)
    return uniform
