"""Elimination of variables from polytopes, where the integers allow it.

A variable is projected out, or a change of variables uncouples the loops of tiled and skewed nests, point by point.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

from perfmodel.counts.points.affine_forms import AffineForm
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


def straightened(polytope: Polytope) -> Polytope:
    """Return a polytope of as many points, its variables as little coupled as can be seen."""
    simple = without_tiles(_without_fixed(polytope))
    for name in simple.variables if len(simple.variables) > 1 else ():
        moved = _sheared(simple, name)
        if moved != simple:
            return straightened(moved)
    return simple


def _without_fixed(polytope: Polytope) -> Polytope:
    """Leave out variables that an equality gives as a whole form of the others: one value each."""
    for form in polytope.equalities:
        for name in polytope.variables:
            if abs(form[name]) == 1:
                return _without_fixed(eliminated(polytope, name) or polytope)
    return polytope


def _sheared(polytope: Polytope, name: str) -> Polytope:
    """Return the polytope with x for x + f, where all constraints on x have only multiples of that.

    The shear (x, y) -> (x + f(y), y) has an inverse in integers, so that no point is lost.
    """
    others = set(polytope.variables) - {name}
    skews = {
        tuple(sorted((y, Fraction(form[y], form[name])) for y in form.names & others))
        for form in (*polytope.equalities, *polytope.inequalities) if name in form
    }
    if len(skews) != 1 or any(c.denominator != 1 for _, c in min(skews)):
        return polytope
    return polytope.substituted(name, AffineForm({name: 1, **{y: -int(c) for y, c in min(skews)}}))


# {{{ tiles

def without_tiles(polytope: Polytope) -> Polytope:
    """Return a polytope of as many points, in which tile and offset are one variable.

    Where ``0 <= y - f < a`` and all else is about ``a*x + y`` or ``x`` alone, ``z = a*x + y`` stands
    for both: x = floor((z - f)/a) is determined, and ``x >= l`` is ``z >= a*l + f``.
    """
    polytope = _without_determined(polytope)
    for offset in polytope.variables:
        for tile in polytope.variables:
            merged = _merged(polytope, tile, offset) if tile != offset else None
            if merged is not None:
                return without_tiles(merged)
    return polytope


def _without_determined(polytope: Polytope) -> Polytope:
    """Leave out variables of which each point of the others has exactly one value.

    Those are ``x`` with no more than ``0 <= f - a*x < a``: x = floor(f/a).
    """
    for name in polytope.variables:
        rows = [form for form in polytope.inequalities if name in form.terms]
        if len(rows) != 2 or any(name in form for form in polytope.equalities):
            continue
        if rows[0] + rows[1] == AffineForm({}, abs(rows[0][name]) - 1):
            others = tuple(form for form in polytope.inequalities if name not in form)
            return _without_determined(replace(polytope, inequalities=others).without(name))
    return polytope


def _merged(polytope: Polytope, tile: str, offset: str) -> Polytope | None:
    """Return the polytope with ``offset`` standing for width * tile + offset, if that is right."""
    both = {tile, offset}
    if not all(both.isdisjoint(form.terms) for form in polytope.equalities):
        return None
    rows = [form for form in polytope.inequalities if not both.isdisjoint(form.terms)]
    of_offset = [form for form in rows if tile not in form]
    for start in (form for form in of_offset if form[offset] == 1):
        for stop in (form for form in of_offset if form[offset] == -1):
            span = start + stop
            moved = _all_on_merged(rows, (start, stop), tile, offset) if span.is_certain() else None
            if moved is not None:
                kept = [form for form in polytope.inequalities if form not in rows]
                return replace(polytope, inequalities=(*kept, *moved)).without(tile)
    return None


def _all_on_merged(
    rows: list[AffineForm], ends: tuple[AffineForm, AffineForm], tile: str, offset: str
) -> list[AffineForm] | None:
    start, stop = ends
    moved = []
    for form in rows:
        if form not in ends:
            found = _on_merged(form, tile, offset, start, (start + stop).constant + 1)
            if found is None:
                return None
            moved.append(found)
    return moved


def _on_merged(
    form: AffineForm, tile: str, offset: str, start: AffineForm, width: int
) -> AffineForm | None:
    """Return an inequality for z = width*tile + offset, which takes the offset's name.

    None where there is none. ``start`` is offset - f, which lies in 0 ... width - 1; with z for the
    offset it is z - f.
    """
    c, d = form[tile], form[offset]
    rest = form.without(tile).without(offset)
    if c == width * d:
        return rest + AffineForm({offset: d})
    if d == 0 and c == 1:  # tile >= -rest: z - f >= -width*rest
        return start + width * rest
    if d == 0 and c == -1:  # tile <= rest: z - f <= width*rest + width - 1
        return width * rest + (width - 1) - start
    return None

# }}}
