"""The hardware axes of a domain: missing axes are added, lanes are gathered into sub-groups or removed.

Where the domain is a product, lanes are eliminated factor by factor.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import islpy as isl

from perfmodel.counts.points.factors import FactoredSet, Factors, eliminated, variable
from perfmodel.counts.points.polytopes import AffineForm, Polytope
from perfmodel.counts.program.program import Domain, Launch

SET = isl.dim_type.set
Box = tuple[tuple[int, int], ...]


def without_local(domain: Domain) -> isl.Set:
    """Return the (work-group, instance) pairs of a domain."""
    points = domain.points
    for index in reversed(range(len(domain.axes))):
        if domain.axes[index].startswith("l") or domain.names[index] in domain.tied:
            points = points.project_out(SET, index, 1)
    return points


def in_sub_groups(domain: Domain, launch: Launch, size: int) -> isl.Set:
    """Return the (sub-group, instance) pairs of a domain: local axes become the sub-group."""
    whole = completed(domain, launch, groups=False)
    pairs: isl.Set | None = None
    for number, lanes in sub_groups(whole, launch, size):
        points = without_local(replace(whole, points=whole.points.intersect(lanes)))
        numbered = points.coalesce().flat_product(isl.Set(f"{{ [{number}] }}"))
        pairs = numbered if pairs is None else pairs.union(numbered)
    return pairs


def sub_groups(domain: Domain, launch: Launch, size: int) -> Iterator[tuple[int, isl.Set]]:
    """Yield the number and the lanes of each sub-group, floor(linear local id / size).

    The lanes are boxes in the domain's space. isl projects boxes out exactly, but not the floor.
    """
    space = domain.points.get_space()
    positions = [domain.axes.index(f"l.{axis}") for axis in range(len(launch.group_shape))]
    for number, boxes in enumerate(boxes_of_sub_groups(launch, size)):
        lanes = isl.Set.empty(space)
        for box in boxes:
            part = isl.Set.universe(space)
            for position, (low, high) in zip(positions, box, strict=True):
                part = part.lower_bound_val(SET, position, isl.Val(low))
                part = part.upper_bound_val(SET, position, isl.Val(high))
            lanes = lanes.union(part)
        yield number, lanes


def boxes_of_sub_groups(launch: Launch, size: int) -> Iterator[list[Box]]:
    """Yield for each sub-group boxes (first and last id along each axis) that hold its lanes."""
    for first in range(0, launch.group_size, size):
        last = min(first + size, launch.group_size) - 1
        yield _boxes(first, last, launch.group_shape)


def _boxes(first: int, last: int, shape: tuple[int, ...]) -> list[Box]:
    """Return boxes of local ids that together are the linear ids first to last, l.0 fastest."""
    if len(shape) <= 1:
        return [((first, last),)] if shape else [()]
    row = 1
    for extent in shape[:-1]:
        row *= extent
    boxes: list[Box] = []
    low, high = first // row, last // row
    if first % row == 0 and last % row == row - 1:
        return [(*((0, extent - 1) for extent in shape[:-1]), (low, high))]
    if low == high:
        return [(*box, (low, low)) for box in _boxes(first % row, last % row, shape[:-1])]
    boxes += _boxes(first, (low + 1) * row - 1, shape)
    if high - low > 1:
        boxes += _boxes((low + 1) * row, high * row - 1, shape)
    return boxes + _boxes(high * row, last, shape)


def completed(domain: Domain, launch: Launch, groups: bool = True) -> Domain:
    """Return the domain with all local axes of its launch as dimensions, and all group axes."""
    points, axes = domain.points, list(domain.axes)
    limits = [
        (f"g.{axis}", _range_of(extent)) for axis, extent in enumerate(launch.grid) if groups
    ]
    limits += [
        (f"l.{axis}", isl.Set(f"{{ [x] : 0 <= x < {extent} }}"))
        for axis, extent in enumerate(launch.group_shape)
    ]
    names = list(domain.names)
    for axis, limit in limits:
        if axis not in axes:
            points = points.flat_product(limit)
            axes.append(axis)
            names.append(axis.replace(".", "_axis_"))
    for index, name in enumerate(names):
        points = points.set_dim_name(SET, index, name)
    return replace(domain, points=points, axes=tuple(axes))


def _range_of(extent: isl.PwAff) -> isl.Set:
    """Return {[x] : 0 <= x < extent}."""
    return isl.Set.from_pw_aff(extent).apply(isl.Map("{ [n] -> [x] : 0 <= x < n }"))


def factors_of_lanes(
    product: FactoredSet, domain: Domain, launch: Launch, size: int
) -> Iterator[list[Factors]]:
    """Yield, for each ``size`` lanes of a group, the instances that they execute, as a union of products.

    The instances with a lane in a box are the product of the factors' projections. Of the boxes that the lanes are,
    those are left out whose instances another one is seen to reach. A factor is None where its projection is not
    seen to be a polytope of integers.
    """
    lanes = {
        variable(k): int(axis[2:]) for k, axis in enumerate(domain.axes) if axis.startswith("l")
    }
    tied = [variable(k) for k, name in enumerate(domain.names) if name in domain.tied]
    removed = {*lanes, *tied}
    whole = tuple(f for f in product.factors if not removed & {*f.variables})
    touched = [f for f in product.factors if removed & {*f.variables}]
    projections: dict[object, Polytope | None] = {}  # sub-groups that differ along one axis share those of the others

    def projected(factor: Polytope, box: Box) -> Polytope | None:
        limits = tuple((name, *box[lanes[name]]) for name in factor.variables if name in lanes)
        key = (factor.variables, limits)
        if key not in projections:
            projections[key] = _projected(factor, limits, removed)
        return projections[key]

    for boxes in boxes_of_sub_groups(launch, size):
        products = [tuple(projected(factor, box) for factor in touched) for box in boxes]
        yield [(*whole, *factors) for factors in _largest(products)]


def _largest(products: list[Factors]) -> list[Factors]:
    """Return the products that no other is seen to hold."""
    kept: list[Factors] = []
    for product in products:
        if not any(_reaches(earlier, product) for earlier in kept):
            kept = [earlier for earlier in kept if not _reaches(product, earlier)] + [product]
    return kept


def _reaches(larger: Factors, smaller: Factors) -> bool:
    """Whether each of the polytopes is seen to hold its counterpart."""
    return larger == smaller or all(
        outer is not None and inner is not None and outer.equalities == inner.equalities
        and all(
            any(row.follows_from(tighter) for tighter in inner.inequalities)
            for row in outer.inequalities
        )
        for outer, inner in zip(larger, smaller, strict=True)
    )


def _projected(
    factor: Polytope, limits: Iterable[tuple[str, int, int]], removed: set[str]
) -> Polytope | None:
    """Return the factor's values of its other variables for which some lane is in the limits."""
    rows = list(factor.inequalities)
    for name, low, high in limits:
        lane = AffineForm({name: 1})
        rows += [lane - low, -lane + high]
    result: Polytope | None = Polytope(factor.variables, factor.equalities, tuple(rows))
    for name in factor.variables:
        if name in removed and result is not None:
            result = eliminated(result, name)
    return result
