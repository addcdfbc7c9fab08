"""Projection of polytopes along one variable, where the integers allow it."""

from __future__ import annotations

from dataclasses import replace
from math import gcd

from perfmodel.counts.points.polynomials import Form, combine
from perfmodel.counts.points.polytopes import Polytope


def eliminated(polytope: Polytope, name: str) -> Polytope | None:
    """Return the projection along a variable; None where it is not seen to be a polytope.

    Between ``a*x >= l`` and ``b*x <= h`` lies an integer wherever ``b*l <= a*h`` if a or b is 1,
    and everywhere if ``a*h - b*l >= (a - 1)*(b - 1)`` (Pugh's Omega test, CACM 35(8), 1992).
    """
    for form in polytope.equalities:
        if name in form:
            if abs(form[name]) != 1:
                return None
            by = {key: -form[name] * c for key, c in form.items() if key != name}
            moved = polytope.substituted(name, by)
            return replace(moved, equalities=tuple(one for one in moved.equalities if one))
    rows = [form for form in polytope.inequalities if name in form]
    kept = [form for form in polytope.inequalities if name not in form]
    for lower in rows:
        for upper in rows:
            if lower[name] > 0 > upper[name]:
                form = combine(lower, -upper[name], upper, lower[name])
                slack = (lower[name] - 1) * (-upper[name] - 1)
                if is_certain(combine(form, 1, {"": slack}, -1)):
                    continue
                if slack:
                    return None
                form = tightened(form)
                if form not in kept:
                    kept.append(form)
    variables = tuple(one for one in polytope.variables if one != name)
    return Polytope(variables, polytope.equalities, tuple(kept))


def is_certain(form: Form) -> bool:
    """Whether a form is a constant that is not negative."""
    return not form.keys() - {""} and form.get("", 0) >= 0


def tightened(form: Form) -> Form:
    """Return the form that is >= 0 at the same integers, divided by what its names share."""
    divisor = gcd(*(c for name, c in form.items() if name))
    if divisor < 2:
        return form
    rounded = {name: c // divisor for name, c in form.items()}
    return {name: c for name, c in rounded.items() if c}
