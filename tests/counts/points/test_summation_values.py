"""Partial sums without variables, and what they add up to."""

from __future__ import annotations

from fractions import Fraction

import islpy as isl
import pytest

from perfmodel.counts import Count
from perfmodel.counts.points import summation
from perfmodel.counts.points.polytopes import NamedFloor, Polynomial, Polytope, floor
from perfmodel.counts.points.summation import PartialSum, TooHardError, joined, total_of, values_of
from tests.counts.points.forms import form

N = Polynomial.atom("n")
POSITIVE = Polytope((), (), (form(-1, n=1),))  # n >= 1


def test_values_under_one_condition_are_added():
    values = values_of([PartialSum(POSITIVE, N), PartialSum(POSITIVE, N * N), PartialSum(Polytope((), (), ()), N)])
    assert {"1*n + -1 >= 0": N + N * N, "1 = 1": N} == values


def test_floors_are_written_for_isl():
    ((_, value),) = values_of([PartialSum(POSITIVE, floor(form(1, n=1), 3))]).items()
    assert Polynomial.atom("floor((1*n + 1)/3)") == value


def test_derived_parameters():
    # q = floor(n/4), and r = floor(q/2) is tied to n by r = n - 5: the value r is n - 5
    q, r = NamedFloor("q", form(n=1), 4), NamedFloor("r", form(q=1), 2)
    tied = Polytope((), (form(5, r=1, n=-1),), ())
    values = values_of([PartialSum(tied, Polynomial.atom("r") + Polynomial.atom("q"), (q, r))])
    (condition,) = values
    assert "1*floor((1*floor((1*n)/4))/2) + -1*n + 5 = 0" == condition
    assert N - Polynomial.constant(5) + Polynomial.atom("floor((1*n)/4)") == values[condition]


def test_totals():
    low, high = {"n >= 0": N}, {"n >= 0": N, "n >= 3": Polynomial.constant(Fraction(1, 2))}
    total = total_of(joined(low, high), ["n"])
    assert [0, 2, 4, Fraction(13, 2)] == [Count(total)(n=n) for n in range(4)]
    assert isl.PwQPolynomial("{ 0 }").plain_is_equal(total_of({}, []))


def test_too_many_terms(monkeypatch):
    monkeypatch.setattr(summation, "TERMS", 1)
    with pytest.raises(TooHardError):
        joined({"n >= 0": N}, {"n >= 3": N})


def test_substitution():
    both = PartialSum(Polytope(("i",), (), (form(i=1),)), Polynomial.atom("i")).substituted("i", form(1, i=2))
    assert PartialSum(Polytope(("i",), (), (form(1, i=2),)), Polynomial.linear(form(1, i=2))) == both
