"""Numbers of points multiply as functions, and an upper bound stays one."""

from __future__ import annotations

import islpy as isl

from perfmodel.counts import Count
from perfmodel.counts.points.cardinality import MOST_FLOORS, Cardinality, product, simplified


def test_functions_of_different_parameters_multiply():
    assert 12 == Count(product(isl.PwQPolynomial("[n] -> { n }"), isl.PwQPolynomial("[m] -> { m }")))(n=3, m=4)


def test_an_inexact_factor_stays_inexact():
    bound = Cardinality(isl.PwQPolynomial("[n] -> { n }"), exact=False)
    found = bound.times(isl.PwQPolynomial("[m] -> { m }"))
    assert not found.exact
    assert 12 == Count(found.polynomial)(n=3, m=4)
    assert not Cardinality(isl.PwQPolynomial("{ 2 }")).times(bound).exact
    assert Cardinality(isl.PwQPolynomial("{ 2 }")).times(Cardinality(isl.PwQPolynomial("{ 3 }"))).exact


def test_what_follows_from_the_assumptions_is_left_out():
    positive = isl.Set("[n] -> { : n >= 1 }")
    assert "[n] -> { n }" == str(simplified(isl.PwQPolynomial("[n] -> { n : n >= 1 }"), positive))


def test_a_function_with_very_many_floors_stays_as_it_is():
    terms = " + ".join(f"floor((n + {k})/{k + 40})" for k in range(MOST_FLOORS + 1))
    large = isl.PwQPolynomial(f"[n] -> {{ ({terms}) : n >= 1 }}")
    assert large.plain_is_equal(simplified(large, isl.Set("[n] -> { : n >= 1 }")))
