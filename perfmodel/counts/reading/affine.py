"""Expressions as isl's piecewise affine functions, with a fast way for those that are affine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from functools import lru_cache
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
    return pw_affs(space, (expr,))[0]


def pw_affs(space: isl.Space, exprs: Sequence[Any]) -> list[isl.PwAff]:
    """Return several expressions as :func:`pw_aff` does."""
    places = space.get_var_dict()
    zero = isl.Aff.zero_on_domain(isl.LocalSpace.from_space(space))
    return [_pw_aff(space, expr, places, zero) for expr in exprs]


def _pw_aff(
    space: isl.Space, expr: Any, places: Mapping[str, tuple[isl.dim_type, int]], zero: isl.Aff
) -> isl.PwAff:
    form = _form(expr)
    if form is None or any(name and name not in places for name in form):
        return guarded_pwaff_from_expr(space, expr, NOTHING)
    aff = zero
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
    form = _form(expr)
    if form is None:
        names: frozenset[str] = get_dependencies(expr)
        return names
    return form.keys() - {""}


def affine_form(expr: Any) -> Form | None:
    """Return the coefficients of an integer affine expression, None for any other."""
    found = _form(expr)
    return None if found is None else {**found}


def is_affine_in(expr: Any, allowed: Callable[[str], bool]) -> bool:
    """Whether an expression is integer affine and all its names are allowed."""
    found = _form(expr)
    return found is not None and all(allowed(name) for name in found if name)


@lru_cache(maxsize=4096, typed=True)
def _form(expr: Any) -> Mapping[str, int] | None:
    if isinstance(expr, (int, np.integer)):
        return {"": int(expr)}
    if isinstance(expr, p.Variable):
        return {expr.name: 1}
    if isinstance(expr, p.Sum):
        total: Form = {}
        for child in expr.children:
            part = _form(child)
            if part is None:
                return None
            for name, coefficient in part.items():
                total[name] = total.get(name, 0) + coefficient
        return total
    if isinstance(expr, p.Product):
        return _product([_form(child) for child in expr.children])
    return None


def _product(parts: list[Mapping[str, int] | None]) -> Form | None:
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
