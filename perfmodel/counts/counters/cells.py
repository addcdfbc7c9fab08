"""Numbers of the distinct cells that accesses touch (Algorithm 2 of Stevens and Klöckner)."""

from collections.abc import Iterable
from functools import cached_property, reduce

import islpy as isl

from perfmodel.counts.counters.executions import Cardinalities
from perfmodel.counts.program.program import Access, Domain, LaneStride
from perfmodel.counts.quasipoly.count import Count

SET, IN, DIV = isl.dim_type.set, isl.dim_type.in_, isl.dim_type.div
Site = tuple[Domain, Access]


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
    """The cells of one array that accesses touch.

    Cells that depend on data are unknown if the array has no known shape.
    """

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
        if not self._alike or self._sample.cells is None:
            return self._whole_array()
        return reduce(isl.Set.union, (points.apply(cells) for points, cells in self._touching)).coalesce()

    def _whole_array(self) -> isl.Set | None:
        shape = self._sample.shape
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
        """Return instances, one for each cell, if cells have several floors, as in ``a[i//4*8 + i%4]``.

        Else return None.
        """
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
