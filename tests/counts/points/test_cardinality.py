"""Numbers of points multiply as functions, and an upper bound stays one."""

from __future__ import annotations

import islpy as isl

from perfmodel.counts import Count
from perfmodel.counts.points.cardinality import Cardinality, product


def test_functions_of_different_parameters_multiply():
    assert 12 == Count(product(isl.PwQPolynomial("[n] -> { n }"), isl.PwQPolynomial("[m] -> { m }")))(n=3, m=4)


def test_an_inexact_factor_stays_inexact():
    bound = Cardinality(isl.PwQPolynomial("[n] -> { n }"), exact=False)
    found = bound.times(isl.PwQPolynomial("[m] -> { m }"))
    assert not found.exact
    assert 12 == Count(found.polynomial)(n=3, m=4)
    assert not Cardinality(isl.PwQPolynomial("{ 2 }")).times(bound).exact
    assert Cardinality(isl.PwQPolynomial("{ 2 }")).times(Cardinality(isl.PwQPolynomial("{ 3 }"))).exact
