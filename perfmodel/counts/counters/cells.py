"""Cells that a kernel touches: distinct ones, the same with the gaps of strided access filled, and bank conflicts.

Algorithm 2 of Stevens and Klöckner: F = union over instructions i and accesses j of I_j(pi_i(D_i)). A bank conflict
serialises an access to local memory by a sub-group. The factor beta of Karsin's dissertation (SPT model, chapter 3) is
the serialised accesses over the sub-group accesses.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from functools import reduce

import islpy as isl

from perfmodel.counts.counters.cardinality import Cardinalities, completed
from perfmodel.counts.points.factors import without_dimensions
from perfmodel.counts.program.program import Access, Domain, LaneStride
from perfmodel.counts.quasipoly.count import Count
from perfmodel.counts.quasipoly.printing import fraction, quasi_polynomial_of
from perfmodel.lazy import cached_property

SET, IN, PARAM, DIV = isl.dim_type.set, isl.dim_type.in_, isl.dim_type.param, isl.dim_type.div
WORD_BYTES = 4
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
    """The cells of one array that some of its accesses touch: those of a direction, or all of them.

    The cells are None where they depend on data and the array's shape is not known.
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
        """The distinct instances, with the cells that they touch."""
        return tuple(dict.fromkeys((domain.points, access.cells) for domain, access in self._sites))

    def _union(self) -> isl.Set | None:
        if not self._alike or self._sample.cells is None:  # of several sizes or unknown, or taken apart differently
            return self._whole_array()
        return reduce(isl.Set.union, (points.apply(cells) for points, cells in self._touching)).coalesce()

    def _whole_array(self) -> isl.Set | None:
        shape = self._sample.shape
        if shape is None or not all(extent.is_bounded() for extent in shape):
            return None
        return _box(shape).intersect_params(self._cardinalities.program.assumptions)

    @cached_property
    def count(self) -> Count:
        """Return |F|; where the cells are unknown, the number of executed accesses as a bound."""
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

        For lanes ``s`` apart along that axis this is F + {0 .. s-1}; where neighbouring lanes touch different rows, the
        rows that F touches are filled.
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
        """Return |F filled| for the accesses whose lanes are so far apart; None where no access is like that."""
        strides = (stride for _, access in self._sites for stride in access.lane_stride)
        alike = (stride for stride in strides if str(Count(stride.distance, granularity="cell")) == str(distance))
        stride = next(alike, None)
        return None if stride is None else self.filled(stride)

    def _count(self, cells: isl.Set) -> Count:
        number = self._cardinalities.size(cells)
        return self._cardinalities.wrap(number, exact=self._exact, granularity="cell", reasons=self._reasons)


def _alike(access: Access, twin: Access) -> bool:
    """Whether equal cells of two accesses to an array are equal addresses: they have one size and one layout."""
    if access.cells is None or twin.cells is None:
        return access.cells is twin.cells
    return access.bits == twin.bits and len(access.strides) == len(twin.strides) and all(
        stride is twin_stride or stride.plain_is_equal(twin_stride)
        for stride, twin_stride in zip(access.strides, twin.strides, strict=True)
    )


def _box(extents: Iterable[isl.Set]) -> isl.Set:
    """Return the product of sets of one dimension each."""
    return reduce(isl.Set.flat_product, extents, isl.Set("{ [] }"))


def _widened(cells: isl.Set, axis: int, width: int) -> isl.Set:
    """Return F + {0 .. width-1} along an axis."""
    axes = [f"x{k}" for k in range(cells.dim(SET))]
    moved = [*axes[:axis], "y", *axes[axis + 1:]]
    limits = f"{axes[axis]} <= y < {axes[axis]} + {width}"
    return cells.apply(isl.Map(f"{{ [{', '.join(axes)}] -> [{', '.join(moved)}] : {limits} }}")).coalesce()


# {{{ banks

def bank_conflicts(cardinalities: Cardinalities, sites: list[Site], banks: int) -> Count:
    """Return the sum over sub-group accesses of the most distinct words in one bank.

    Lanes that read the same word don't conflict. Exact where every group and iteration executes an access with the
    same lanes, else an upper bound (all lanes that ever do so).
    """
    counts = (_serialised(cardinalities, domain, access, banks) for domain, access in sites)
    return sum(counts, Count.constant(0, "subgroup"))


def _serialised(cardinalities: Cardinalities, domain: Domain, access: Access, banks: int) -> Count:
    launch = cardinalities.program.launches[domain.launch]
    steps = _lane_steps(access, domain)
    if steps is None or domain.trips is not None:
        bound = cardinalities.count(domain)  # at worst the lanes go one by one
        vary = f"the distance between lanes in '{access.array}' is not one number"
        return bound.labelled("subgroup", False, doubts(domain, access) or (vary,))
    whole = completed(domain, launch)
    touched = _words(whole, access, steps, launch.group_shape, cardinalities.subgroup_size)
    degree = sum(max(Counter(word % banks for word in words).values()) for words in touched.values())
    count = degree * cardinalities.count(domain, "workgroup")
    reasons = [*doubts(domain, access)]
    if not _same_lanes_everywhere(whole):
        reasons.append("groups or iterations execute it with different lanes")
    return count.labelled("subgroup", count.exact and not reasons, reasons)


def _lane_steps(access: Access, domain: Domain) -> dict[str, int] | None:
    """Return how many cells the address moves along each local axis, where that is constant."""
    if access.cells is None or domain.tied:
        return None
    index = isl.PwMultiAff.from_map(access.cells)
    steps: dict[str, int] = defaultdict(int)
    for k, stride in enumerate(access.strides):
        function = quasi_polynomial_of(stride)
        pieces = index.get_pw_aff(k).get_pieces()
        if function.parameters or len(pieces) != 1 or pieces[0][1].dim(DIV):
            return None
        cells = int(function.exact())
        for position, axis in enumerate(domain.axes):
            if axis.startswith("l"):
                steps[axis] += int(fraction(pieces[0][1].get_coefficient_val(IN, position))) * cells
    return dict(steps)


def _words(
    domain: Domain, access: Access, steps: dict[str, int], shape: tuple[int, ...], size: int
) -> dict[int, set[int]]:
    """Return the words that each sub-group touches, its lanes ``steps`` cells apart."""
    words: dict[int, set[int]] = defaultdict(set)
    axes = [axis for axis in domain.axes if axis.startswith("l")]
    for lane in _lanes(domain):
        ids = dict(zip(axes, lane, strict=True))
        linear, stride = 0, 1
        for axis, extent in enumerate(shape):
            linear += stride * ids[f"l.{axis}"]
            stride *= extent
        first = sum(steps.get(axis, 0) * ids[axis] for axis in axes) * access.bits // 8
        last = first + access.bits // 8 - 1
        words[linear // size] |= set(range(first // WORD_BYTES, last // WORD_BYTES + 1))
    return words


def _lanes(domain: Domain) -> list[tuple[int, ...]]:
    """Return the local ids that ever execute, in the order of the domain's local axes."""
    lanes = without_dimensions(domain.points, (k for k, axis in enumerate(domain.axes) if not axis.startswith("l")))
    lanes = lanes.project_out(PARAM, 0, lanes.dim(PARAM))
    local_ids: list[tuple[int, ...]] = []
    lanes.foreach_point(lambda point: local_ids.append(tuple(
        point.get_coordinate_val(SET, k).to_python() for k in range(lanes.dim(SET))
    )))
    return local_ids


def _same_lanes_everywhere(domain: Domain) -> bool:
    """Whether the lanes and the (group, iteration) pairs vary independently."""
    lanes = instances = domain.points
    for index, axis in enumerate(domain.axes):
        if axis.startswith("l"):
            instances = instances.eliminate(SET, index, 1)
        else:
            lanes = lanes.eliminate(SET, index, 1)
    lanes = lanes.eliminate(PARAM, 0, lanes.dim(PARAM)) if lanes.dim(PARAM) else lanes
    return bool(lanes.intersect(instances).is_subset(domain.points))

# }}}
