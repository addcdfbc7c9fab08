"""Distinct cells that a kernel touches, and the same with the gaps of strided access filled.

Algorithm 2 of Stevens and Klöckner: F = union over instructions i and accesses j of
I_j(pi_i(D_i)).
"""

from __future__ import annotations

import islpy as isl

from perfmodel.counts.counters.cardinality import Cardinalities
from perfmodel.counts.program.program import Access, Domain, LaneStride
from perfmodel.counts.quasipoly.count import Count
from perfmodel.lazy import cached_property

SET, IN, DIV = isl.dim_type.set, isl.dim_type.in_, isl.dim_type.div
Site = tuple[Domain, Access]


def doubts(domain: Domain, access: Access) -> tuple[str, ...]:
    """Return why the cells that an access touches are only bounded."""
    reasons = [*domain.doubts]
    if access.cells is None:
        reasons.append(f"data give the index of '{access.array}'")
    elif not access.cells_exact:
        reasons.append(f"two indices of '{access.array}' may be one cell")
    return tuple(reasons)


def all_doubts(sites: list[Site]) -> list[str]:
    """Return why the cells that accesses touch are only bounded."""
    return [doubt for domain, access in sites for doubt in doubts(domain, access)]


class Footprint:
    """The cells of one array that are touched in one direction.

    Attributes
    ----------
    cells : islpy.Set or None
        The cells; None where they depend on data and the array's shape is not known.
    exact : bool
        False where ``cells`` may hold more than what is touched.
    """

    def __init__(self, sites: list[Site], cardinalities: Cardinalities) -> None:
        self._cardinalities = cardinalities
        self._sites = sites
        self._sample = min((access for _, access in sites), key=lambda access: access.bits)
        self._alike = all(_alike(self._sample, access) for _, access in sites)
        self.exact = self._alike and all(
            domain.exact and domain.chance == 1 and domain.trips is None and a.cells_exact for domain, a in sites
        )
        self.cells = self._union()

    @cached_property
    def _touching(self) -> tuple[tuple[isl.Set, isl.Map], ...]:
        """The distinct instances, with the cells that they touch."""
        return tuple(dict.fromkeys((domain.points, access.cells) for domain, access in self._sites))

    def _union(self) -> isl.Set | None:
        if not self._alike or self._sample.cells is None:  # of several sizes or unknown, or taken apart differently
            return self._whole_array()
        union: isl.Set | None = None
        for points, map_ in self._touching:
            cells = points.apply(map_)
            union = cells if union is None else union.union(cells)
        return union.coalesce() if union is not None else None

    def _whole_array(self) -> isl.Set | None:
        shape = self._sample.shape
        if shape is None or not all(extent.is_bounded() for extent in shape):
            return None
        whole: isl.Set = isl.Set("{ [] }")
        for extent in shape:
            whole = whole.flat_product(extent)
        return whole.intersect_params(self._cardinalities.program.assumptions)

    @cached_property
    def count(self) -> Count:
        """Return |F|; where the cells are unknown, the number of executed accesses as a bound."""
        if self.cells is not None:
            return self._count(self._touching_once(self.cells) or self.cells)
        total = Count.constant(0)
        for domain, _ in self._sites:
            total = total + self._cardinalities.count(domain)
        return total.labelled("cell", False, self._reasons)

    @property
    def _reasons(self) -> list[str]:
        reasons = all_doubts(self._sites)
        if all(access.cells is not None for _, access in self._sites) and not self._alike:
            reasons.append(f"'{self._sample.array}' is accessed in different sizes or layouts")
        return reasons

    def _touching_once(self, cells: isl.Set) -> isl.Set | None:
        """Return instances that touch one cell each, all cells together, where these have several floors.

        There are as many of them as cells, and fewer floors: ``a[i//4*8 + i%4]`` has a cell for each i.
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
        """Return |F with its gaps along the unit-stride axis filled|.

        For lanes ``s`` apart along that axis this is F + {0 .. s-1}; where neighbouring lanes
        touch different rows, the rows that F touches are filled.
        """
        axis = self._sample.unit_axis
        if self.cells is None or axis is None:
            return None
        if stride.along_unit_axis is not None:
            return self._count(_widened(self.cells, axis, stride.along_unit_axis))
        if self._sample.shape is None:
            return None
        rows = self.cells.project_out(SET, axis, 1).insert_dims(SET, axis, 1)
        return self._count(
            rows.intersect(_within(rows.dim(SET), axis, self._sample.shape[axis])).coalesce()
        )

    def _count(self, cells: isl.Set) -> Count:
        number = self._cardinalities.size(cells)
        return self._cardinalities.wrap(number, exact=self.exact, granularity="cell", reasons=self._reasons)


def _alike(access: Access, twin: Access) -> bool:
    """Whether equal cells of two accesses to an array are equal addresses: they have one size and one layout."""
    if access.cells is None or twin.cells is None:
        return access.cells is twin.cells
    return access.bits == twin.bits and len(access.strides) == len(twin.strides) and all(
        stride is twin_stride or stride.plain_is_equal(twin_stride)
        for stride, twin_stride in zip(access.strides, twin.strides, strict=True)
    )


def _within(dimensions: int, axis: int, extent: isl.Set) -> isl.Set:
    """Return {x : x[axis] in extent} among points of that many dimensions."""
    result: isl.Set = isl.Set("{ [] }")
    for index in range(dimensions):
        result = result.flat_product(extent if index == axis else isl.Set("{ [x] }"))
    return result


def _widened(cells: isl.Set, axis: int, width: int) -> isl.Set:
    """Return F + {0 .. width-1} along an axis."""
    axes = [f"x{k}" for k in range(cells.dim(SET))]
    moved = [*axes[:axis], "y", *axes[axis + 1:]]
    limits = f"{axes[axis]} <= y < {axes[axis]} + {width}"
    return cells.apply(isl.Map(f"{{ [{', '.join(axes)}] -> [{', '.join(moved)}] : {limits} }}")).coalesce()
