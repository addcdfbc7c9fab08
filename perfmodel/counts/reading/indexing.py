"""Accesses as values: index expressions become isl maps with the array's layout and lane strides.

isl cannot hold a product of a parameter and a variable. So a flattened index such as ``a[n*i + j]`` is taken apart
into its digits: column j of row i, where rows have n cells.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cache
from math import prod
from typing import Any

import islpy as isl
import loopy as lp
import numpy as np
import pymbolic.primitives as p
from loopy.diagnostic import ExpressionNotAffineError, ExpressionToAffineConversionError
from loopy.kernel.array import FixedStrideArrayDimTag, SeparateArrayArrayDimTag
from loopy.symbolic import CoefficientCollector, LinearSubscript

from perfmodel.counts.program.program import Access, Domain, LaneStride
from perfmodel.counts.reading.domains import Domains, affine_form, names_in, pw_affs
from perfmodel.counts.reading.events import AccessEvent
from perfmodel.counts.reading.lanes import Lanes, quasi_polynomial, uniform_scalars
from perfmodel.counts.reading.target.vectors import member_of, type_name
from perfmodel.counts.reading.values import memory_type, offset_argument, offset_of, space_of
from perfmodel.errors import NotCountableError

Monomial = tuple[str, ...]  # parameters, sorted, repeated as often as they are multiplied


@dataclass(frozen=True)
class Digit:
    """One axis of a flattened index.

    Attributes
    ----------
    index : pymbolic expression
        Affine in the inames.
    stride : pymbolic expression
        A product of parameters.
    extent : pymbolic expression or None
        The index must be below it, so that axes do not overlap; None for the first axis.
    """

    index: Any
    stride: Any
    extent: Any


def digits(index: Any, names: tuple[str, ...]) -> tuple[Digit, ...]:
    """Return the axes that an index can be taken apart into, the slowest first.

    Returns
    -------
    tuple of Digit
        One, the index itself, where it is affine already or cannot be taken apart.
    """
    whole = (Digit(index, 1, None),)
    if affine_form(index) is not None:
        return whole
    try:
        coefficients = CoefficientCollector(list(names))(index)
    except (ExpressionNotAffineError, RuntimeError, ValueError, NotImplementedError):
        return whole
    parts: dict[Monomial, Any] = {(): 0}
    for variable, coefficient in coefficients.items():
        terms = _polynomial(coefficient)
        if terms is None:
            return whole
        for monomial, factor in terms.items():
            parts[monomial] = parts.get(monomial, 0) + factor * variable
    involved = {m for m, part in parts.items() if not isinstance(part, (int, np.integer))}
    if not involved - {()}:
        return whole
    ranked = sorted(parts, key=len)
    found = []
    for low, high in zip(ranked, [*ranked[1:], None], strict=True):
        rest = None if high is None else _divided(high, low)
        if high is not None and rest is None:
            return whole
        found.append(Digit(parts[low], _product(low), None if rest is None else _product(rest)))
    return tuple(reversed(found))


def _polynomial(expr: Any) -> dict[Monomial, int] | None:
    """Return an expression in parameters as integer coefficients of monomials, if it is one."""
    if isinstance(expr, (int, np.integer)):
        return {(): int(expr)}
    if isinstance(expr, p.Variable):
        return {(expr.name,): 1}
    if isinstance(expr, (p.Sum, p.Product)):
        parts = [_polynomial(child) for child in expr.children]
        if any(part is None for part in parts):
            return None
        known = [part for part in parts if part is not None]
        total = known[0]
        for part in known[1:]:
            total = _added(total, part) if isinstance(expr, p.Sum) else _multiplied(total, part)
        return total
    return None


def _added(left: dict[Monomial, int], right: dict[Monomial, int]) -> dict[Monomial, int]:
    return {m: left.get(m, 0) + right.get(m, 0) for m in {**left, **right}}


def _multiplied(left: dict[Monomial, int], right: dict[Monomial, int]) -> dict[Monomial, int]:
    total: dict[Monomial, int] = {}
    for m, a in left.items():
        for k, b in right.items():
            key = tuple(sorted((*m, *k)))
            total[key] = total.get(key, 0) + a * b
    return total


def _divided(high: Monomial, low: Monomial) -> Monomial | None:
    rest = Counter(high)
    rest.subtract(Counter(low))
    if any(count < 0 for count in rest.values()):
        return None
    return tuple(sorted(rest.elements()))


def _product(monomial: Monomial) -> Any:
    result: Any = 1
    for name in monomial:
        result = result * p.Variable(name)
    return result


SET = isl.dim_type.set
APART = 2**40
"""Cells from one part of an array in separate parts (``dim_tags="sep"``) to the next: no part is as long."""


@dataclass(frozen=True)
class Layout:
    """The layout of an array: strides (in units of the access) and extents of its axes."""

    strides: tuple[Any, ...]
    shape: tuple[Any, ...] | None

    @property
    def unit_axis(self) -> int | None:
        """The axis along which neighbours are adjacent, None where no axis is."""
        units = [k for k, stride in enumerate(self.strides) if stride == 1]
        return units[-1] if units else None

    def of_vectors(self, axis: int, length: int) -> Layout:
        """Return the layout of an array whose cells are vectors along ``axis``."""
        shape = None if self.shape is None else _drop(self.shape, axis)
        strides = tuple(
            s // length if isinstance(s, int) else p.FloorDiv(s, length)
            for s in _drop(self.strides, axis)
        )
        return Layout(strides, shape)

    def of_member(self, indices: tuple[Any, ...], parts: int, place: int) -> tuple[tuple[Any, ...], Layout]:
        """Return the indices and the layout of a member of each cell, whose size is one of ``parts`` of the cell.

        ``a[i].s1`` of float4 is cell 4*i + 1 of an array of float; ``a[n*i + j].s1``, which is taken apart, is cell
        (n*i + j, 1).
        """
        axis = self.unit_axis
        strides = tuple(parts * stride for stride in self.strides)
        if axis is None or affine_form(indices[axis]) is None:
            shape = None if self.shape is None else (*self.shape, parts)
            return (*indices, place), Layout((*strides, 1), shape)
        moved = (*indices[:axis], parts * indices[axis] + place, *indices[axis + 1:])
        extents = None if self.shape is None else tuple(
            parts * extent if k == axis and extent is not None else extent for k, extent in enumerate(self.shape)
        )
        return moved, Layout((*strides[:axis], 1, *strides[axis + 1:]), extents)


@dataclass(frozen=True)
class Resolved:
    """An index tuple at the points of a domain."""

    layout: Layout
    cells: isl.Map | None
    exact: bool
    shape: tuple[isl.Set, ...] | None
    unit_axis: int | None
    lane_strides: tuple[LaneStride, ...]


class Indexing:
    """Makes :class:`Access` values for one kernel."""

    def __init__(self, kernel: lp.LoopKernel, domains: Domains) -> None:
        self.kernel = kernel
        self.domains = domains
        line = isl.Set.universe(domains.assumptions.get_space()).from_params().add_dims(SET, 1)
        self.line = line.set_dim_name(SET, 0, "x")
        self._found: dict[object, Resolved] = {}
        self.uniform = uniform_scalars(kernel, domains.axes)
        self.layout = cache(self._layout)
        self.extents = cache(self._extents)

    def access(self, event: AccessEvent, domain: Domain, width: int) -> Access:
        """Return the access that an event makes at the points of a domain.

        ``width`` is the number of work-items along local axis 0.
        """
        variable = self.kernel.get_var_descriptor(event.array)
        dtype = memory_type(variable)
        linear = bool(event.indices) and isinstance(event.indices[0], LinearSubscript)
        indices = (event.indices[0].index,) if linear else event.indices
        layout = self.layout(event.array, linear)
        length = 1
        if event.vector_axis is not None:
            length = int(variable.shape[event.vector_axis])
            indices = _drop(indices, event.vector_axis)
            layout = layout.of_vectors(event.vector_axis, length)
        offset, parts = offset_of(variable), 1
        if event.member:
            member, place = member_of(dtype, event.member)
            parts = dtype.itemsize // member.itemsize
            if dtype.itemsize % member.itemsize or place % member.itemsize:
                raise NotCountableError(
                    f"the access {event.array}[...].{'.'.join(event.member)}",
                    f"its {member.itemsize} bytes lie at byte {place} of {dtype.itemsize}",
                    "align the members of the type",
                )
            indices, layout = layout.of_member(indices, parts, place // member.itemsize)
            dtype, offset = member, parts * offset if offset else 0
        key = (id(domain), indices, layout)
        if key not in self._found:
            self._found[key] = self._resolve(domain, indices, layout, width)
        found = self._found[key]
        parameters = self.domains.parameters
        name = offset_argument(variable)
        shift = (name, parts) if name and name not in parameters else None
        return Access(
            space_of(variable), event.direction, event.array, type_name(dtype), dtype.itemsize * 8 * length,
            found.cells, found.exact, found.shape, found.unit_axis, found.lane_strides,
            tuple(quasi_polynomial(stride, parameters) for stride in found.layout.strides),
            quasi_polynomial(0 if shift else offset, parameters), shift,
        )

    def _layout(self, array: str, linear: bool) -> Layout:
        """Return the layout of an array; that of a flat one where it is indexed linearly."""
        variable = self.kernel.get_var_descriptor(array)
        if not linear and variable.shape == ():
            return Layout((), ())
        if linear or variable.dim_tags is None:  # an array of unknown shape has one axis
            return Layout((1,), None)
        strides = tuple(_stride(variable, axis) for axis in range(len(variable.dim_tags)))
        return Layout(strides, variable.shape if isinstance(variable.shape, tuple) else None)

    def _resolve(
        self, domain: Domain, indices: tuple[Any, ...], layout: Layout, width: int
    ) -> Resolved:
        names = {*domain.names, *self.domains.parameters}
        extents = self.extents(layout.shape)
        given = {name for index in indices for name in names_in(index)} - names  # by data
        if given:
            around = {*domain.names} - domain.tied
            same = all(name in self.uniform and self.uniform[name] <= around for name in given)
            lanes = Lanes(domain, width, self.domains.parameters)
            strides = lanes.strides(indices, layout.strides, layout.unit_axis) if same else ()
            return Resolved(layout, None, False, extents, layout.unit_axis, strides)
        taken = [digits(index, domain.names) for index in indices]
        if any(len(found) > 1 for found in taken):
            return self._flattened(domain, taken, layout, width)
        lanes = Lanes(domain, width, self.domains.parameters)
        strides = lanes.strides(indices, layout.strides, layout.unit_axis)
        cells = self._cells(domain, indices)
        return Resolved(layout, cells, cells is not None, extents, layout.unit_axis, strides)

    def _flattened(
        self, domain: Domain, taken: list[tuple[Digit, ...]], layout: Layout, width: int
    ) -> Resolved:
        """Resolve indices such as n*i + j, each digit of which becomes an axis."""
        parts: list[Any] = []
        strides: list[Any] = []
        shape: list[isl.Set] = []
        exact = True
        for found, stride in zip(taken, layout.strides, strict=True):
            indices, inside = self._carried(domain, found)
            exact = exact and inside
            for digit, index in zip(found, indices, strict=True):
                parts.append(index)
                strides.append(digit.stride * stride)
                extent = None if digit.extent is None else self.extents((digit.extent,))
                shape.append(self.line if extent is None else extent[0])
        whole = Layout(tuple(strides), None)
        lanes = Lanes(domain, width, self.domains.parameters)
        steps = lanes.strides(tuple(parts), whole.strides, whole.unit_axis)
        cells = self._cells(domain, tuple(parts))
        return Resolved(whole, cells, exact, tuple(shape), whole.unit_axis, steps)

    def _carried(self, domain: Domain, found: tuple[Digit, ...]) -> tuple[list[Any], bool]:
        """Return the digits' indices, each in its range, and whether that was possible.

        A digit out of range borrows from the next: ``m*(i + 1) + (-1 - j)`` is ``m*i + (m - 1 - j)``.
        """
        indices = [digit.index for digit in found]
        inside = True
        for k in reversed(range(1, len(found))):
            extent = found[k].extent
            limits = self.extents((extent,))
            constant = (affine_form(indices[k - 1]) or {}).get("", 0)
            for carry in dict.fromkeys((0, constant, 1, -1)):
                moved = indices[k] + carry * extent if carry else indices[k]
                if self._in_range(domain, moved, limits):
                    indices[k - 1 : k + 1] = [indices[k - 1] - carry if carry else indices[k - 1], moved]
                    break
            else:
                inside = False
        return indices, inside

    def _in_range(
        self, domain: Domain, index: Any, extent: tuple[isl.Set, ...] | None
    ) -> bool:
        cells = self._cells(domain, (index,))
        if cells is None or extent is None:
            return False
        return bool(domain.points.apply(cells).is_subset(extent[0]))

    def _cells(self, domain: Domain, indices: tuple[Any, ...]) -> isl.Map | None:
        space = domain.points.get_space()
        try:
            axes = pw_affs(space, indices)
        except ExpressionToAffineConversionError:
            return None
        cells = isl.MultiPwAff.zero(space.from_domain().add_dims(isl.dim_type.out, len(axes)))
        for axis, index in enumerate(axes):
            cells = cells.set_pw_aff(axis, index)
        return isl.Map.from_multi_pw_aff(cells)

    def _extents(self, shape: tuple[Any, ...] | None) -> tuple[isl.Set, ...] | None:
        """Return {[x] : 0 <= x < extent} for each axis."""
        if shape is None or None in shape:  # an extent that the user leaves open
            return None
        space = self.line.get_space()
        cell = isl.PwAff.from_aff(isl.Aff.var_on_domain(isl.LocalSpace.from_space(space), SET, 0))
        least = self.line.lower_bound_val(SET, 0, isl.Val(0))
        try:
            extents = pw_affs(space, shape)
        except ExpressionToAffineConversionError:
            return None
        return tuple(least.intersect(cell.lt_set(extent)) for extent in extents)


def _stride(variable: Any, axis: int) -> Any:
    """Return how far apart neighbours along an axis lie, in cells; the parts of a separated array begin far apart."""
    tag = variable.dim_tags[axis]
    if isinstance(tag, SeparateArrayArrayDimTag):
        inner = zip(variable.dim_tags[axis + 1:], variable.shape[axis + 1:], strict=True)
        return APART * prod(extent for other, extent in inner if isinstance(other, SeparateArrayArrayDimTag))
    return tag.stride if isinstance(tag, FixedStrideArrayDimTag) else 1


def _drop(items: tuple[Any, ...], position: int) -> tuple[Any, ...]:
    return (*items[:position], *items[position + 1 :])
