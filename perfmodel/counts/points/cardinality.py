"""The number of points of a set, as a function of parameters."""

from __future__ import annotations

from dataclasses import dataclass

import islpy as isl


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
