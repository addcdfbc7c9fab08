"""Projects a set that has few values along the removed variables, as a union; Barvinok's algorithm may take minutes."""

from __future__ import annotations

import islpy as isl

SET, DIV = isl.dim_type.set, isl.dim_type.div
VALUES = 16


def enumerated(points: isl.Set) -> isl.Set:
    """Return the same set with fewer existential variables.

    Where a part of the set has two existential variables or more, and one of these has at most 16
    values at all sizes, the part becomes the union over these values.
    """
    basics = points.get_basic_sets()
    if all(basic.dim(DIV) < 2 for basic in basics):
        return points
    whole = isl.Set.empty(points.get_space())
    for basic in basics:
        whole = whole.union(_written_out(basic))
    return whole.coalesce()


def _written_out(basic: isl.BasicSet) -> isl.Set:
    same = isl.Set.from_basic_set(basic)
    if basic.dim(DIV) < 2:
        return same
    rank = basic.dim(SET)
    lifted = isl.Set.from_basic_set(basic.lift().flatten())
    for axis in range(rank, lifted.dim(SET)):
        low, high = lifted.dim_min_val(axis), lifted.dim_max_val(axis)
        if low.is_int() and high.is_int() and high.sub(low).to_python() < VALUES:
            parts = isl.Set.empty(basic.get_space())
            for value in range(int(low.to_python()), int(high.to_python()) + 1):
                one = lifted.fix_val(SET, axis, isl.Val(value))
                parts = parts.union(one.project_out(SET, rank, lifted.dim(SET) - rank))
            return parts
    return same
