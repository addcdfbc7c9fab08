"""Projection of polytopes along one variable, where the integers allow it."""

from __future__ import annotations

from perfmodel.counts.points.polytopes import Polytope


def eliminated(polytope: Polytope, name: str) -> Polytope | None:
    """Return the projection along a variable; None where it is not seen to be a polytope.

    Between ``a*x >= l`` and ``b*x <= h`` lies an integer wherever ``b*l <= a*h`` if a or b is 1,
    and everywhere if ``a*h - b*l >= (a - 1)*(b - 1)`` (Pugh's Omega test, CACM 35(8), 1992).
    """
    tied = [form for form in polytope.equalities if name in form]
    if tied:
        unit = next((form for form in tied if abs(form[name]) == 1), None)
        if unit is None:
            return None
        moved = polytope.substituted(name, -unit[name] * unit.without(name)).without(name)
        return Polytope(moved.variables, tuple(form for form in moved.equalities if form), moved.inequalities)
    bounds = polytope.bounds(name)
    kept = bounds.others
    for lower in bounds.lower:
        for upper in bounds.upper:
            a, b = lower[name], -upper[name]
            form = b * lower + a * upper
            slack = (a - 1) * (b - 1)
            if (form - slack).is_certain():
                continue
            if slack:
                return None
            form = form.tightened()
            if form not in kept:
                kept.append(form)
    return Polytope(tuple(v for v in polytope.variables if v != name), polytope.equalities, tuple(kept))
