"""The number of points of a set, as a function of parameters."""

from __future__ import annotations

from dataclasses import dataclass

import islpy as isl

MOST_PIECES = 256
"""More pieces are not simplified: their number is what adding up and gist cost."""
MOST_FLOORS = 16
"""Nor are pieces with more floors: gist on 13 pieces with 27 floors takes eleven seconds and leaves out nothing."""


@dataclass(frozen=True)
class Cardinality:
    """The number of points of a set, and whether it is exact or an upper bound."""

    polynomial: isl.PwQPolynomial
    exact: bool = True

    def times(self, factor: Cardinality | isl.PwQPolynomial) -> Cardinality:
        """Return the product with another number, or with an exact function of the parameters."""
        if isinstance(factor, Cardinality):
            return Cardinality(product(self.polynomial, factor.polynomial), self.exact and factor.exact)
        return Cardinality(product(self.polynomial, factor), self.exact)


def product(left: isl.PwQPolynomial, right: isl.PwQPolynomial) -> isl.PwQPolynomial:
    """Return the product of two functions of parameters, which isl wants aligned first."""
    if not left.has_equal_space(right):
        for one in (left, right):
            everywhere = isl.Set.universe(one.get_domain_space())
            left, right = left.intersect_params(everywhere), right.intersect_params(everywhere)
    return left.mul(right)


def simplified(polynomial: isl.PwQPolynomial, assumptions: isl.Set) -> isl.PwQPolynomial:
    """Return a function of parameters without what follows from the assumptions, unless it is very large."""
    if polynomial.n_piece() > MOST_PIECES or any(
        value.dim(isl.dim_type.div) > MOST_FLOORS for _, value in polynomial.get_pieces()
    ):
        return polynomial
    return polynomial.gist_params(assumptions).coalesce()
