"""Expressions as isl's piecewise affine functions, quickly where they are plainly affine."""

from __future__ import annotations

from collections.abc import Set
from typing import Any

import islpy as isl
import numpy as np
import pymbolic.primitives as p
from loopy.symbolic import get_dependencies, guarded_pwaff_from_expr

NOTHING: frozenset[str] = frozenset()
Form = dict[str, int]  # coefficients by name; that of "" is the constant


def pw_aff(space: isl.Space, expr: Any) -> isl.PwAff:
    """Return an expression as a function on a set space.

    Raises
    ------
    loopy.diagnostic.ExpressionToAffineConversionError
        It is not quasi-affine in the space's dimensions and parameters.
    """
    form = affine_form(expr)
    places = space.get_var_dict() if form is not None else {}
    if form is None or any(name and name not in places for name in form):
        return guarded_pwaff_from_expr(space, expr, NOTHING)
    aff = isl.Aff.zero_on_domain(isl.LocalSpace.from_space(space))
    for name, coefficient in form.items():
        if not name:
            aff = aff.set_constant_val(isl.Val(coefficient))
            continue
        kind, position = places[name]
        kind = isl.dim_type.in_ if kind == isl.dim_type.set else kind
        aff = aff.set_coefficient_val(kind, position, isl.Val(coefficient))
    return isl.PwAff.from_aff(aff)


def names_in(expr: Any) -> Set[str]:
    """Return the names that an expression depends on."""
    form = affine_form(expr)
    if form is None:
        names: frozenset[str] = get_dependencies(expr)
        return names
    return form.keys() - {""}


def affine_form(expr: Any) -> Form | None:
    """Return the coefficients of an integer affine expression, None for any other."""
    if isinstance(expr, (int, np.integer)):
        return {"": int(expr)}
    if isinstance(expr, p.Variable):
        return {expr.name: 1}
    if isinstance(expr, p.Sum):
        total: Form = {}
        for child in expr.children:
            part = affine_form(child)
            if part is None:
                return None
            for name, coefficient in part.items():
                total[name] = total.get(name, 0) + coefficient
        return total
    if isinstance(expr, p.Product):
        return _product([affine_form(child) for child in expr.children])
    return None


def _product(parts: list[Form | None]) -> Form | None:
    result: Form = {"": 1}
    for part in parts:
        if part is None:
            return None
        if not set(result) - {""}:
            factor, other = result.get("", 0), part
        elif not set(part) - {""}:
            factor, other = part.get("", 0), result
        else:
            return None
        result = {name: factor * coefficient for name, coefficient in other.items()}
    return result
