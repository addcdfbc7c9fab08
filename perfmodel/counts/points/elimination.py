"""Projection of polytopes along one variable, where the integers allow it, and unions of their products."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from perfmodel.counts.points.polytopes import Polytope

Factors = tuple[Polytope | None, ...]
PRODUCTS = 4
"""At most, in a union that is written out: four products have eleven intersections."""


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


def alternating(union: Sequence[Factors]) -> Iterator[tuple[int, Factors]]:
    """Yield signs and products whose points add up to those of a union: ``|A or B| = |A| + |B| - |A and B|``.

    A factor is None where one that it comes from is; so is the only one of a union of too many products.

    Examples
    --------
    >>> from perfmodel.counts.points.affine_forms import AffineForm
    >>> i = AffineForm.variable("i")
    >>> low, high = (Polytope(("i",), (), (i - first, -i + first + 3)) for first in (0, 2))
    >>> for sign, (common,) in alternating([(low,), (high,)]):
    ...     print(sign, common)
    1 [] -> { [i] : 1*i >= 0 and -1*i + 3 >= 0 }
    1 [] -> { [i] : 1*i + -2 >= 0 and -1*i + 5 >= 0 }
    -1 [] -> { [i] : -1*i + 3 >= 0 and 1*i + -2 >= 0 }
    """
    if len(union) > PRODUCTS:
        yield 1, (None,)
        return
    for size in range(1, len(union) + 1):
        for products in combinations(union, size):
            yield (-1) ** (size + 1), tuple(_common(factors) for factors in zip(*products, strict=True))


def _common(factors: Factors) -> Polytope | None:
    """Return the intersection of polytopes over the same variables, without rows that follow from another one."""
    distinct = list({id(factor): factor for factor in factors}.values())
    first = distinct[0]
    if len(distinct) == 1 or first is None:
        return first
    rows, equalities = dict.fromkeys(first.inequalities), dict.fromkeys(first.equalities)
    for factor in distinct[1:]:
        if factor is None:
            return None
        rows |= dict.fromkeys(factor.inequalities)
        equalities |= dict.fromkeys(factor.equalities)
    kept = [row for row in rows if not any(row.follows_from(other) for other in rows if other is not row)]
    return Polytope(first.variables, tuple(equalities), tuple(kept))
