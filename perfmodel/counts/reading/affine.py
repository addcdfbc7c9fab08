"""Expressions as isl's piecewise affine functions, with a fast way for those that are affine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from functools import lru_cache
from typing import Any

import islpy as isl
import numpy as np
import pymbolic.primitives as p
from loopy.diagnostic import ExpressionToAffineConversionError
from loopy.symbolic import (
    AffineConditionToISLSetMapper,
    ConditionExpressionToBooleanOpsExpression,
    PwAffEvaluationMapper,
    get_dependencies,
    with_aff_conversion_guard,
)
from pymbolic.mapper.evaluator import CachedEvaluationMapper, UnknownVariableError

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
        return with_aff_conversion_guard(_piecewise, space, expr, places, zero)
    aff = zero
    for name, coefficient in form.items():
        if not name:
            aff = aff.set_constant_val(isl.Val(coefficient))
            continue
        aff = _with_coefficient(aff, places[name], coefficient)
    return isl.PwAff.from_aff(aff)


def _with_coefficient(aff: isl.Aff, place: tuple[isl.dim_type, int], coefficient: int) -> isl.Aff:
    kind, position = place
    kind = isl.dim_type.in_ if kind == isl.dim_type.set else kind
    return aff.set_coefficient_val(kind, position, isl.Val(coefficient))


def condition_to_set(space: isl.Space, expr: Any) -> isl.Set | None:
    """Return the points of a set space at which a condition holds; None where data decides, or it is not quasi-affine.

    As Loopy's function of this name does, in time that does not grow with the names that the condition leaves out.
    """
    if not get_dependencies(expr) <= space.get_var_dict().keys():
        return None
    try:
        return _Condition(space)(_to_booleans(expr))
    except ExpressionToAffineConversionError:
        return None


class _Condition(AffineConditionToISLSetMapper):  # type: ignore[misc]
    """Loopy's mapper to sets, in which the sides of a comparison are taken together."""

    def map_comparison(self, expr: p.Comparison) -> isl.Set:
        operator = expr.operator
        if operator == "!=":
            return self.rec(p.Comparison(expr.left, "==", expr.right)).complement()
        left, right = (_in_one_piece(side, expr) for side in pw_affs(self.space, (expr.left, expr.right)))
        difference = left - right if operator in ("==", ">=", ">") else right - left
        if operator == "==":
            constraint = isl.Constraint.equality_from_aff(difference)
        else:
            constraint = isl.Constraint.inequality_from_aff(difference - 1 if operator in "<>" else difference)
        return isl.Set.universe(self.space).add_constraint(constraint)


_to_booleans = ConditionExpressionToBooleanOpsExpression()


def _in_one_piece(function: isl.PwAff, expr: Any) -> isl.Aff:
    pieces = function.coalesce().get_pieces()
    if len(pieces) != 1:
        raise ExpressionToAffineConversionError(f"a side of '{expr}' is not affine in one piece")
    return pieces[0][1]


def _piecewise(
    space: isl.Space, expr: Any, places: Mapping[str, tuple[isl.dim_type, int]], zero: isl.Aff
) -> isl.PwAff:
    return _PiecewiseAffine(places, zero)(expr)


class _PiecewiseAffine(PwAffEvaluationMapper):  # type: ignore[misc]
    """Loopy's mapper to piecewise affine functions, which makes those of the names that it meets only."""

    def __init__(self, places: Mapping[str, tuple[isl.dim_type, int]], zero: isl.Aff) -> None:
        CachedEvaluationMapper.__init__(self, {})
        self.places, self.zero, self.pw_zero = places, zero, isl.PwAff.from_aff(zero)

    def map_variable(self, expr: p.Variable) -> isl.PwAff:
        if expr.name not in self.places:
            raise UnknownVariableError(expr.name)
        return isl.PwAff.from_aff(_with_coefficient(self.zero, self.places[expr.name], 1))


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
