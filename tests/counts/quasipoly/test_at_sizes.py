"""Counts without a formula: they are evaluated at given sizes, and nothing of them is lost."""

from __future__ import annotations

import pickle
from fractions import Fraction

import islpy as isl
import numpy as np
import pytest

from perfmodel.counts.points import set_counter
from perfmodel.counts.points.barvinok import OPERATIONS, can_count
from perfmodel.counts.points.cardinality import NOTHING, only_at_sizes
from perfmodel.counts.points.set_counter import count_points
from perfmodel.counts.quasipoly import at_sizes
from perfmodel.counts.quasipoly.count import Count
from perfmodel.errors import CountTooHardError, IncomparableCountsError, ParameterError

TRIANGLE = isl.Set("[n] -> { [i, j] : 0 <= j <= i < n }")


def triangle() -> Count:
    return Count(NOTHING, unexpanded=only_at_sizes(TRIANGLE).unexpanded)


@pytest.mark.parametrize("n", [0, 1, 7, 10**6])
def test_value(n):
    assert n * (n + 1) // 2 == triangle()(n=n)


def test_arrays_of_sizes():
    sizes = np.array([[3, 4, 3]])
    assert [[6.0, 10.0, 6.0]] == triangle().evaluate({"n": sizes}).tolist()


def test_arithmetic():
    line = Count.from_text("[m] -> { m + 1 }")
    count = (Fraction(1, 3) * triangle() + line).times(triangle() + line)
    # (6/3 + 5) * (6 + 5)
    assert 77 == count(n=3, m=4)
    assert ("m", "n") == count.parameters


def test_text_says_that_there_is_no_formula():
    assert "f(n), evaluated at given sizes only" == str(triangle())
    assert "at most f(n), evaluated at given sizes only" == str(triangle().labelled("workitem", exact=False))


def test_json_and_pickle():
    count = 2 * triangle() + Count.from_text("[n] -> { n }")
    for copy in (Count.from_json(count.to_json()), pickle.loads(pickle.dumps(count))):
        assert (15, count.to_json()) == (copy(n=3), copy.to_json())


def test_comparison():
    assert triangle() == triangle()
    with pytest.raises(IncomparableCountsError, match="budget"):
        triangle() == 2 * triangle()  # noqa: B015


def test_missing_size():
    with pytest.raises(ParameterError, match="'n' was left out"):
        triangle()(m=3)


def test_too_hard_even_at_sizes(monkeypatch):
    monkeypatch.setattr(at_sizes, "HARDER", 1)
    monkeypatch.setattr(at_sizes, "OPERATIONS", 1)
    with pytest.raises(CountTooHardError, match="n=5"):
        triangle()(n=5)


def test_points_that_are_listed(monkeypatch):
    # 0 .. 6 and 4 .. 9 overlap in three points
    overlapping = isl.Set("[n] -> { [i] : 0 <= i < n or 4 <= i < n + 3 }")
    monkeypatch.setattr(at_sizes, "count_points", lambda points, operations: count_points(points, 1))
    assert 10 == at_sizes.points_at(overlapping, {"n": 7})


@pytest.mark.skipif(not can_count(), reason="isl's operations are limited for Barvinok's algorithm")
def test_budget():
    """The number of points of a triangle is counted at sizes where its formula takes too much work."""
    assert () == count_points(TRIANGLE, OPERATIONS).unexpanded
    number = count_points(TRIANGLE, 10)
    assert 28 == Count(number.polynomial, unexpanded=number.unexpanded)(n=7)
    assert 1 == len(number.unexpanded)


def test_isl_is_not_limited_afterwards():
    count_points(TRIANGLE, 10)
    assert 0 == isl.DEFAULT_CONTEXT.get_max_operations()


def test_many_terms_take_more_than_the_budget(monkeypatch):
    monkeypatch.setattr(set_counter, "TERMS", 1)
    assert 28 == Count(NOTHING, unexpanded=count_points(TRIANGLE, OPERATIONS).unexpanded)(n=7)
