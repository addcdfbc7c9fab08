"""Flattened indices taken apart: ``a[n*i + j]`` is column j of row i, where rows have n cells.

isl cannot represent a product of a parameter and a variable, but it can represent each digit.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import pymbolic.primitives as p
from loopy.diagnostic import ExpressionNotAffineError
from loopy.symbolic import CoefficientCollector

from perfmodel.counts.reading.affine import affine_form

Monomial = tuple[str, ...]  # parameters, sorted, repeated as often as they are multiplied


@dataclass(frozen=True)
class Digit:
    """One axis of a flattened index.

    Attributes
    ----------
    index : pymbolic expression
        Affine in the inames.
    stride : pymbolic expression
        A product of parameters.
    extent : pymbolic expression or None
        The index must be below it, so that axes do not overlap; None for the first axis.
    """

    index: Any
    stride: Any
    extent: Any


def digits(index: Any, names: tuple[str, ...]) -> tuple[Digit, ...]:
    """Return the axes that an index can be taken apart into, the slowest first.

    Returns
    -------
    tuple of Digit
        One, the index itself, where it is affine already or cannot be taken apart.
    """
    whole = (Digit(index, 1, None),)
    if affine_form(index) is not None:
        return whole
    try:
        coefficients = CoefficientCollector(list(names))(index)
    except (ExpressionNotAffineError, RuntimeError, ValueError, NotImplementedError):
        return whole
    parts: dict[Monomial, Any] = {(): 0}
    for variable, coefficient in coefficients.items():
        terms = _polynomial(coefficient)
        if terms is None:
            return whole
        for monomial, factor in terms.items():
            parts[monomial] = parts.get(monomial, 0) + factor * variable
    involved = {m for m, part in parts.items() if not isinstance(part, (int, np.integer))}
    if not involved - {()}:
        return whole
    ranked = sorted(parts, key=len)
    found = []
    for low, high in zip(ranked, [*ranked[1:], None], strict=True):
        rest = None if high is None else _divided(high, low)
        if high is not None and rest is None:
            return whole
        found.append(Digit(parts[low], _product(low), None if rest is None else _product(rest)))
    return tuple(reversed(found))


def _polynomial(expr: Any) -> dict[Monomial, int] | None:
    """Return an expression in parameters as integer coefficients of monomials, if it is one."""
    if isinstance(expr, (int, np.integer)):
        return {(): int(expr)}
    if isinstance(expr, p.Variable):
        return {(expr.name,): 1}
    if isinstance(expr, (p.Sum, p.Product)):
        parts = [_polynomial(child) for child in expr.children]
        if any(part is None for part in parts):
            return None
        known = [part for part in parts if part is not None]
        total = known[0]
        for part in known[1:]:
            total = _added(total, part) if isinstance(expr, p.Sum) else _multiplied(total, part)
        return total
    return None


def _added(left: dict[Monomial, int], right: dict[Monomial, int]) -> dict[Monomial, int]:
    return {m: left.get(m, 0) + right.get(m, 0) for m in {**left, **right}}


def _multiplied(left: dict[Monomial, int], right: dict[Monomial, int]) -> dict[Monomial, int]:
    total: dict[Monomial, int] = {}
    for m, a in left.items():
        for k, b in right.items():
            key = tuple(sorted((*m, *k)))
            total[key] = total.get(key, 0) + a * b
    return total


def _divided(high: Monomial, low: Monomial) -> Monomial | None:
    rest = Counter(high)
    rest.subtract(Counter(low))
    if any(count < 0 for count in rest.values()):
        return None
    return tuple(sorted(rest.elements()))


def _product(monomial: Monomial) -> Any:
    result: Any = 1
    for name in monomial:
        result = result * p.Variable(name)
    return result
