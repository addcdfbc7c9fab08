"""Changes of variables that uncouple the loops of tiled and skewed nests, point by point."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from perfmodel.counts.points.elimination import eliminated
from perfmodel.counts.points.polytopes import Polytope, without_tiles


def straightened(polytope: Polytope) -> Polytope:
    """Return a polytope of as many points, its variables as little coupled as can be seen."""
    simple = without_tiles(_without_fixed(polytope))
    for name in simple.variables:
        moved = _sheared(simple, name)
        if moved != simple:
            return straightened(moved)
    return simple


def _without_fixed(polytope: Polytope) -> Polytope:
    """Leave out variables that an equality gives as a whole form of the others: one value each."""
    for form in polytope.equalities:
        for name in polytope.variables:
            if abs(form.get(name, 0)) == 1:
                return _without_fixed(eliminated(polytope, name) or polytope)
    return polytope


def _sheared(polytope: Polytope, name: str) -> Polytope:
    """Return the polytope in which x stands for x + f, where it is in no more than multiples of that.

    The shear (x, y) -> (x + f(y), y) has an inverse in integers, so that no point is lost.
    """
    others = set(polytope.variables) - {name}
    skews = {
        tuple(sorted((y, Fraction(form[y], form[name])) for y in form.keys() & others))
        for form in (*polytope.equalities, *polytope.inequalities) if name in form
    }
    if len(skews) != 1 or any(c.denominator != 1 for _, c in min(skews)):
        return polytope
    return replace(
        polytope.substituted(name, {name: 1} | {y: -int(c) for y, c in min(skews)}),
        variables=polytope.variables,
    )
