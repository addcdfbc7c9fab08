"""Hardware axes of a domain: adds missing axes, gathers lanes into sub-groups, removes lanes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import islpy as isl

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
    found: isl.Set | None = None
    for number, lanes in sub_groups(whole, launch, size):
        points = without_local(replace(whole, points=whole.points.intersect(lanes)))
        numbered = points.coalesce().flat_product(isl.Set(f"{{ [{number}] }}"))
        found = numbered if found is None else found.union(numbered)
    return found


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
    found: list[Box] = []
    low, high = first // row, last // row
    if first % row == 0 and last % row == row - 1:
        return [(*((0, extent - 1) for extent in shape[:-1]), (low, high))]
    if low == high:
        return [(*box, (low, low)) for box in _boxes(first % row, last % row, shape[:-1])]
    found += _boxes(first, (low + 1) * row - 1, shape)
    if high - low > 1:
        found += _boxes((low + 1) * row, high * row - 1, shape)
    return found + _boxes(high * row, last, shape)


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
