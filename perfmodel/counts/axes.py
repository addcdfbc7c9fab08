"""Hardware axes of a domain: missing ones added, lanes gathered into sub-groups, lanes left out."""

from __future__ import annotations

from dataclasses import replace

import islpy as isl

from perfmodel.counts.program import Domain, Launch

SET, IN, OUT = isl.dim_type.set, isl.dim_type.in_, isl.dim_type.out


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
    kept = isl.Map.identity(isl.Space.map_from_set(whole.points.get_space()))
    for index in reversed(range(len(whole.axes))):
        if whole.axes[index].startswith("l") or whole.names[index] in domain.tied:
            kept = kept.project_out(OUT, index, 1)
    return whole.points.apply(kept.flat_range_product(sub_group_of(whole, launch, size)))


def sub_group_of(domain: Domain, launch: Launch, size: int) -> isl.Map:
    """Return the map from an instance to floor(linear local id / size); l.0 is fastest."""
    space = isl.LocalSpace.from_space(domain.points.get_space())
    lane = isl.Aff.zero_on_domain(space)
    stride = 1
    for axis, extent in enumerate(launch.group_shape):
        lane = lane.set_coefficient_val(IN, domain.axes.index(f"l.{axis}"), isl.Val(stride))
        stride *= extent
    return isl.Map.from_aff(lane.scale_down_val(isl.Val(size)).floor())


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
    line = isl.Set("{ [x] : x >= 0 }").align_params(extent.get_domain_space())
    space = isl.LocalSpace.from_space(line.get_space())
    here = isl.PwAff.from_aff(isl.Aff.var_on_domain(space, SET, 0))
    parts = isl.Set.empty(line.get_space())
    for where, value in extent.get_pieces():
        moved = value if value.dim(isl.dim_type.in_) else value.add_dims(isl.dim_type.in_, 1)
        if where.is_params():
            where = where.from_params()
        where = where.add_dims(SET, 1 - where.dim(SET))
        limit = isl.PwAff.from_aff(moved)
        parts = parts.union(line.intersect(where).intersect(here.lt_set(limit)))
    return parts
