"""The number of points of a set, as a function of parameters."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import islpy as isl

NOTHING = isl.PwQPolynomial("{ 0 }")
MOST_PIECES = 256
"""More pieces are not simplified: their number is what adding up and gist cost."""
MOST_FLOORS = 16
"""Nor are pieces with more floors: gist on 13 pieces with 27 floors takes eleven seconds and leaves out nothing."""
MOST_FLOORS_ADDED = 24
"""Nor is a sum with more floors made: isl may take minutes for one addition, and its operations do not tell."""


@dataclass(frozen=True, eq=False)
class Unexpanded:
    """``factor * prod_i f_i * prod_j |S_j|``, a product that is not written out as one polynomial.

    It is evaluated at given sizes only: there even sets with no formula of a reasonable length
    are counted in milliseconds.

    Attributes
    ----------
    factor : Fraction
    functions : tuple of islpy.PwQPolynomial
        The f, functions of parameters.
    sets : tuple of islpy.Set
        The S, sets over parameters.
    """

    factor: Fraction
    functions: tuple[isl.PwQPolynomial, ...]
    sets: tuple[isl.Set, ...]

    def times(self, other: Unexpanded) -> Unexpanded:
        """Return the product of two products."""
        return Unexpanded(self.factor * other.factor, self.functions + other.functions, self.sets + other.sets)

    def scaled(self, factor: Fraction) -> Unexpanded:
        """Return a multiple."""
        return replace(self, factor=factor * self.factor)


@dataclass(frozen=True)
class Cardinality:
    """The number of points of a set, and whether it is exact or an upper bound.

    The number is the polynomial plus the summands in ``unexpanded``.
    """

    polynomial: isl.PwQPolynomial
    exact: bool = True
    unexpanded: tuple[Unexpanded, ...] = ()

    def times(self, factor: Cardinality | isl.PwQPolynomial) -> Cardinality:
        """Return the product with another number, or with an exact function of the parameters."""
        if not isinstance(factor, Cardinality):
            factor = Cardinality(factor)
        polynomial, unexpanded = multiplied(
            (self.polynomial, self.unexpanded), (factor.polynomial, factor.unexpanded)
        )
        return Cardinality(polynomial, self.exact and factor.exact, unexpanded)

    def minus(self, other: Cardinality) -> Cardinality:
        """Return the difference from an exact number."""
        unexpanded = (*self.unexpanded, *(one.scaled(Fraction(-1)) for one in other.unexpanded))
        return Cardinality(self.polynomial.sub(other.polynomial), self.exact, unexpanded)


def only_at_sizes(points: isl.Set) -> Cardinality:
    """Return the number of points of a set as one that is found at given sizes only."""
    return Cardinality(NOTHING, True, (Unexpanded(Fraction(1), (), (points,)),))


Summands = tuple[isl.PwQPolynomial, tuple[Unexpanded, ...]]


def multiplied(left: Summands, right: Summands) -> Summands:
    """Return the product of two sums, each of a polynomial and of unexpanded products."""
    if not left[1] and not right[1]:
        return product(left[0], right[0]), ()
    found = [one.times(other) for one in left[1] for other in (*_of(right[0]), *right[1])]
    found += [one.times(other) for one in _of(left[0]) for other in right[1]]
    return product(left[0], right[0]), tuple(found)


def _of(polynomial: isl.PwQPolynomial) -> tuple[Unexpanded, ...]:
    return () if polynomial.is_zero() else (Unexpanded(Fraction(1), (polynomial,), ()),)


def product(left: isl.PwQPolynomial, right: isl.PwQPolynomial) -> isl.PwQPolynomial:
    """Return the product of two functions of parameters, which isl wants aligned first."""
    if not left.has_equal_space(right):
        for one in (left, right):
            everywhere = isl.Set.universe(one.get_domain_space())
            left, right = left.intersect_params(everywhere), right.intersect_params(everywhere)
    return left.mul(right)


def floors_of(polynomial: isl.PwQPolynomial) -> int:
    """Return the floors of the piece that has most."""
    return max((value.dim(isl.dim_type.div) for _, value in polynomial.get_pieces()), default=0)


def simplified(polynomial: isl.PwQPolynomial, assumptions: isl.Set) -> isl.PwQPolynomial:
    """Return a function of parameters without what follows from the assumptions, unless it is very large."""
    if polynomial.n_piece() > MOST_PIECES or floors_of(polynomial) > MOST_FLOORS:
        return polynomial
    return polynomial.gist_params(assumptions).coalesce()
