"""Index expressions as isl maps, and the distances between neighbouring lanes' addresses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import islpy as isl
import loopy as lp
import numpy as np
from loopy.diagnostic import ExpressionNotAffineError, ExpressionToAffineConversionError
from loopy.kernel.array import FixedStrideArrayDimTag
from loopy.symbolic import (
    CoefficientCollector,
    LinearSubscript,
    get_dependencies,
    guarded_pwaff_from_expr,
    pw_qpolynomial_from_expr,
)

from perfmodel.counts.domains import Domains
from perfmodel.counts.expressions import AccessEvent
from perfmodel.counts.program import Access, Domain, LaneStride

SET, PARAM, IN = isl.dim_type.set, isl.dim_type.param, isl.dim_type.in_
MOST_DISTANCES = 64  # more different distances than this are called indirect
NOTHING: frozenset[str] = frozenset()
SPACES = {
    lp.AddressSpace.GLOBAL: "global",
    lp.AddressSpace.LOCAL: "local",
    lp.AddressSpace.PRIVATE: "private",
}


@dataclass(frozen=True)
class Layout:
    """Where an array's cells lie: strides (in cells) and extents of its axes.

    ``unit_axis`` is the axis along which neighbours are adjacent, None where no axis is.
    """

    strides: tuple[Any, ...]
    shape: tuple[isl.Set, ...] | None
    unit_axis: int | None


class Indexing:
    """Makes :class:`Access` values for one kernel."""

    def __init__(self, kernel: lp.LoopKernel, domains: Domains) -> None:
        self.kernel = kernel
        self.domains = domains
        self.param_space = domains.assumptions.get_space()
        self._layouts: dict[tuple[str, bool], Layout] = {}
        self._found: dict[object, tuple[isl.Map | None, tuple[LaneStride, ...]]] = {}

    def access(self, event: AccessEvent, domain: Domain) -> Access:
        """Return the access that an event makes at the points of a domain."""
        variable = self.kernel.get_var_descriptor(event.array)
        dtype = np.dtype(variable.dtype.numpy_dtype)
        linear = bool(event.indices) and isinstance(event.indices[0], LinearSubscript)
        indices = (event.indices[0].index,) if linear else event.indices
        layout = self.layout(event.array, linear)
        key = (domain.points, indices, layout)
        if key not in self._found:
            self._found[key] = self._resolve(domain, indices, layout)
        cells, strides = self._found[key]
        space = SPACES[getattr(variable, "address_space", lp.AddressSpace.GLOBAL)]
        return Access(
            space, event.direction, event.array, dtype.name, dtype.itemsize * 8,
            cells, layout.shape, layout.unit_axis, strides,
        )

    def layout(self, array: str, linear: bool) -> Layout:
        """Return the layout of an array; that of a flat one where it is indexed linearly."""
        if (array, linear) not in self._layouts:
            variable = self.kernel.get_var_descriptor(array)
            if linear or not variable.shape:
                found = Layout((1,) if linear else (), None if linear else (), 0 if linear else None)
            else:
                strides = tuple(
                    tag.stride if isinstance(tag, FixedStrideArrayDimTag) else 1
                    for tag in variable.dim_tags
                )
                unit = [k for k, stride in enumerate(strides) if _is_one(stride)]
                shape = self._shape(variable.shape)
                found = Layout(strides, shape, unit[-1] if unit else None)
            self._layouts[array, linear] = found
        return self._layouts[array, linear]

    def _shape(self, shape: Any) -> tuple[isl.Set, ...] | None:
        """Return {[x] : 0 <= x < extent} for each axis."""
        if not isinstance(shape, tuple):
            return None
        line = isl.Set.universe(self.param_space).from_params().add_dims(SET, 1)
        line = line.set_dim_name(SET, 0, "x")
        space = line.get_space()
        cell = isl.PwAff.from_aff(isl.Aff.var_on_domain(isl.LocalSpace.from_space(space), SET, 0))
        try:
            extents = [guarded_pwaff_from_expr(space, extent, NOTHING) for extent in shape]
        except ExpressionToAffineConversionError:
            return None
        least = line.lower_bound_val(SET, 0, isl.Val(0))
        return tuple(least.intersect(cell.lt_set(extent)) for extent in extents)

    def _resolve(
        self, domain: Domain, indices: tuple[Any, ...], layout: Layout
    ) -> tuple[isl.Map | None, tuple[LaneStride, ...]]:
        names = set(domain.names)
        data = {
            name for index in indices for name in get_dependencies(index)
            if name not in names and name not in self.domains.parameters
        }
        if data:
            return None, ()
        space = domain.points.get_space()
        return self._cells(space, indices), self._lane_strides(domain, indices, layout)

    def _cells(self, space: isl.Space, indices: tuple[Any, ...]) -> isl.Map | None:
        try:
            affs = [guarded_pwaff_from_expr(space, index, NOTHING) for index in indices]
        except ExpressionToAffineConversionError:
            return None
        cells = isl.Map.from_domain(isl.Set.universe(space))
        cells = cells.add_dims(isl.dim_type.out, 0)
        for aff in affs:
            cells = cells.flat_range_product(isl.Map.from_pw_aff(aff))
        return cells

    # {{{ lanes

    def _lane_strides(
        self, domain: Domain, indices: tuple[Any, ...], layout: Layout
    ) -> tuple[LaneStride, ...]:
        """Return the distances between the cells of lanes l.0 and l.0 + 1, with where they hold."""
        lanes = [n for n, axis in zip(domain.names, domain.axes, strict=True) if axis == "l.0"]
        if not lanes or not indices:
            return (LaneStride(self._constant(0), None, 0),)
        parts: list[tuple[isl.Set | None, tuple[Any, ...]]] = [(None, ())]
        for index in indices:
            steps = self._steps(domain, index, lanes[0])
            if not steps:
                return ()
            parts = [
                (_both(where, here), (*taken, step))
                for where, taken in parts for here, step in steps
            ]
        found = []
        for where, step_of_axis in parts:
            if where is None or not where.is_empty():
                found.append(self._stride(step_of_axis, layout, where))
        return tuple(found)

    def _steps(
        self, domain: Domain, index: Any, lane: str
    ) -> list[tuple[isl.Set | None, Any]]:
        """Return how far ``index`` moves from a lane to the next, and where (None: everywhere)."""
        try:
            coefficients = CoefficientCollector(list(domain.names))(index)
        except (ExpressionNotAffineError, RuntimeError, ValueError, NotImplementedError):
            return self._quasi_affine_steps(domain, index, lane)
        variable = next((k for k in coefficients if getattr(k, "name", None) == lane), None)
        return [(None, coefficients[variable] if variable is not None else 0)]

    def _quasi_affine_steps(
        self, domain: Domain, index: Any, lane: str
    ) -> list[tuple[isl.Set | None, Any]]:
        space = domain.points.get_space()
        try:
            here = guarded_pwaff_from_expr(space, index, NOTHING)
        except ExpressionToAffineConversionError:
            return []
        position = domain.names.index(lane)
        moved = isl.MultiAff.identity_on_domain_space(space)
        moved = moved.set_at(position, moved.get_at(position).add_constant_val(isl.Val(1)))
        step = isl.Map.from_pw_aff(here.pullback_multi_aff(moved).sub(here))
        values = step.intersect_domain(domain.points).range()
        values = values.project_out(PARAM, 0, values.dim(PARAM))
        if not values.is_bounded() or values.is_empty():
            return []
        if int(str(values.count_val())) > MOST_DISTANCES:
            return []
        found: list[tuple[isl.Set | None, Any]] = []
        for value in _members(values):
            only = isl.Set(f"{{ [{value}] }}")
            found.append((step.intersect_range(only).domain(), value))
        return found

    def _stride(
        self, steps: tuple[Any, ...], layout: Layout, within: isl.Set | None
    ) -> LaneStride:
        distance: Any = 0
        for step, stride in zip(steps, layout.strides, strict=True):
            distance = distance + step * stride
        others = [s for k, s in enumerate(steps) if k != layout.unit_axis]
        along = None
        if layout.unit_axis is not None and all(_is_zero(s) for s in others):
            step = steps[layout.unit_axis]
            along = abs(int(step)) if isinstance(step, (int, np.integer)) else None
        return LaneStride(self._magnitude(distance), within, along)

    def _constant(self, value: int) -> isl.PwQPolynomial:
        return isl.PwQPolynomial(f"{{ {value} }}")

    def _magnitude(self, distance: Any) -> isl.PwQPolynomial:
        """Return |distance|, whose sign is that at large sizes."""
        if isinstance(distance, (int, np.integer)):
            return self._constant(abs(int(distance)))
        space = isl.Set.universe(self.param_space).from_params().get_space()
        found = pw_qpolynomial_from_expr(space, distance)
        if not found.get_domain_space().is_params():
            found = found.project_domain_on_params()
        sizes = dict.fromkeys(self.domains.parameters, 1 << 12)
        value = found.eval_with_dict(sizes)
        found = found.drop_unused_params()
        return found.neg() if value < 0 else found

    # }}}


def _both(left: isl.Set | None, right: isl.Set | None) -> isl.Set | None:
    if left is None or right is None:
        return right if left is None else left
    return left.intersect(right)


def _members(values: isl.Set) -> Sequence[int]:
    found: list[int] = []
    values.foreach_point(
        lambda point: found.append(point.get_coordinate_val(SET, 0).to_python())
    )
    return sorted(found)


def _is_one(expr: Any) -> bool:
    return isinstance(expr, (int, np.integer)) and int(expr) == 1


def _is_zero(expr: Any) -> bool:
    return isinstance(expr, (int, np.integer)) and int(expr) == 0
