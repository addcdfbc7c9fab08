"""Short notation for affine forms, and the points of a polytope by enumeration in plain Python."""

from itertools import product

from perfmodel.counts.points.polytopes import AffineForm, Polytope


def form(constant: int = 0, **terms: int) -> AffineForm:
    return AffineForm(terms, constant)


def points_of(polytope: Polytope, size: int = 12, **parameters: int) -> set[tuple[int, ...]]:
    """Return the points whose coordinates lie between ``-size`` and ``size``."""
    found = set()
    for point in product(range(-size, size + 1), repeat=len(polytope.variables)):
        values = {**parameters, **dict(zip(polytope.variables, point, strict=True))}
        if all(f.at(values) == 0 for f in polytope.equalities) and all(
            f.at(values) >= 0 for f in polytope.inequalities
        ):
            found.add(point)
    return found
