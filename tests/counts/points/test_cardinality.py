"""Numbers of points multiply as functions, and an upper bound stays one."""

import islpy as isl
import pytest

from perfmodel.counts import Count
from perfmodel.counts.points.cardinality import MOST_FLOORS, Cardinality, IntervalCounter, simplified
from perfmodel.counts.points.factors import Multiple
from perfmodel.counts.points.polytopes import Polytope
from tests.counts.points.forms import form


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


POSITIVE = IntervalCounter(isl.Set("[n] -> { : n >= 1 }"))


def interval(*rows):
    return Polytope(("i",), (), rows)


@pytest.mark.parametrize(("expected", "subject"), [
    ("[n] -> { n }", interval(form(i=1), form(-1, n=1, i=-1))),  # 0 <= i < n
    ("[n] -> { n - 3 : n >= 3 }", interval(form(-3, i=1), form(-1, n=1, i=-1))),  # 3 <= i < n
    ("[n] -> { floor((n + 15)/16) }", interval(form(i=1), form(-1, n=1, i=-16))),  # 0 <= 16*i < n
    ("[n] -> { n }", interval(form(i=1), form(-1, n=1, i=-1), form(n=1, i=-1))),  # i <= n follows
    ("[n] -> { 3 : n >= 6 }", interval(form(i=1), form(2, i=-1), form(-6, n=1))),
])  # fmt: skip
def test_intervals(expected, subject):
    assert Count.from_text(expected, "[n] -> { : n >= 1 }") == Count(POSITIVE.count(subject))


def test_products():
    square = Polytope(("i", "j"), (), (form(i=1), form(-1, n=1, i=-1), form(j=1), form(6, j=-1)))
    assert "[n] -> { 7 * n }" == str(POSITIVE.count(square))


def test_no_products():
    triangle = Polytope(("i", "j"), (), (form(j=1), form(i=1, j=-1), form(-1, n=1, i=-1)))
    assert POSITIVE.count(triangle) is None
    # neither bound of 3 <= 2*i <= n has the coefficient 1
    assert POSITIVE.count(interval(form(-3, i=2), form(n=1, i=-2))) is None
    # of i < n and i < 5 neither follows from the other
    assert POSITIVE.count(interval(form(i=1), form(-1, n=1, i=-1), form(4, i=-1))) is None


def test_conditions_that_follow_are_left_out():
    assert "[n] -> { 1 }" == str(POSITIVE.indicator([form(-1, n=1), form(3, n=2)]))
    assert "[n] -> { 1 : n >= 6 }" == str(POSITIVE.indicator([form(-1, n=1), form(-6, n=1)]))


def test_multiples_stand_for_parameters():
    # with m = (n - 3)/8 the interval 0 <= i <= m has (n - 3)/8 + 1 = (n + 5)/8 points
    counter = IntervalCounter(isl.Set("[n] -> { : n >= 3 and n mod 8 = 3 }"))
    eighth = Multiple("n", 3, 8)
    counter.learn([eighth])
    found = counter.count(interval(form(i=1), form(i=-1, **{eighth.name: 1})))
    assert "[n] -> { (5/8 + 1/8 * n) }" == str(found)
