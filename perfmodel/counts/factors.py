"""A set as a product of sets over fewer dimensions, which are counted one by one.

The loops of a tiled kernel couple only in pairs (16*i_outer + i_inner < n), and most pairs look
alike: a matrix product's six loops are three times the same two-dimensional set.
"""

from __future__ import annotations

import islpy as isl

SET, DIV = isl.dim_type.set, isl.dim_type.div


def factors(points: isl.Set) -> list[isl.Set]:
    """Return sets over disjoint groups of dimensions whose product is ``points``.

    Only a single basic set is taken apart; any other set is its own only factor.
    """
    if points.n_basic_set() != 1 or points.dim(SET) < 2:
        return [points]
    basics = points.compute_divs().get_basic_sets()
    if len(basics) != 1:
        return [points]
    basic = basics[0]
    couplings = []
    for constraint in basic.get_constraints():
        couplings.append(_dimensions(constraint.get_aff()))
    groups = _merged(points.dim(SET), couplings)
    if len(groups) == 1:
        return [points]
    return [_part(basic, group) for group in groups]


def _dimensions(aff: isl.Aff) -> set[int]:
    """Return the set dimensions that a constraint's form involves, also through its divs."""
    found = {
        k for k in range(aff.dim(isl.dim_type.in_)) if aff.involves_dims(isl.dim_type.in_, k, 1)
    }
    for k in range(aff.dim(DIV)):
        if not aff.get_coefficient_val(DIV, k).is_zero():
            found |= _dimensions(aff.get_div(k))
    return found


def _merged(size: int, couplings: list[set[int]]) -> list[set[int]]:
    groups = [{k} for k in range(size)]
    for coupled in couplings:
        touched = [group for group in groups if group & coupled]
        if len(touched) > 1:
            groups = [group for group in groups if not group & coupled]
            groups.append(set().union(*touched))
    return groups


def _part(basic: isl.BasicSet, group: set[int]) -> isl.Set:
    others = [k for k in reversed(range(basic.dim(SET))) if k not in group]
    for k in others:
        basic = basic.drop_constraints_involving_dims(SET, k, 1)
    part = basic.to_set()
    for k in others:
        part = part.project_out(SET, k, 1)
    return part
