"""Sizes are non-negative integers, of whatever type."""

import pickle
from fractions import Fraction

import islpy as isl
import numpy as np
import pytest

from perfmodel.counts.points import set_counter, summation
from perfmodel.counts.points.cardinality import only_at_sizes
from perfmodel.counts.points.set_counter import OPERATIONS, can_count, count_points
from perfmodel.counts.quasipoly import arguments
from perfmodel.counts.quasipoly.arguments import whole, whole_array
from perfmodel.counts.quasipoly.count import Count
from perfmodel.errors import CountError, SizeError


@pytest.mark.parametrize("value", [3, 3.0, np.int64(3), np.float32(3), Fraction(3)])
def test_integers(value):
    found = whole("n", value, ("n",))
    assert (3, int) == (found, type(found))


@pytest.mark.parametrize("value", [1.5, "3", True, None, float("nan"), float("inf"), -1])
def test_refused_sizes(value):
    with pytest.raises(SizeError, match=r"\bn\b"):
        whole("n", value, ("n",))


@pytest.mark.parametrize("values", [[1, 2], np.array([1.0, 2.0]), np.array([1, 2], np.uint8)])
def test_arrays(values):
    found = whole_array("n", values, ("n",))
    assert (np.int64, [1, 2]) == (found.dtype, found.tolist())


@pytest.mark.parametrize("values", [[1, 2.5], [-1, 2], [1, float("nan")], [True, False]])
def test_refused_arrays(values):
    with pytest.raises(SizeError, match=r"\bn\b"):
        whole_array("n", values, ("n",))


TRIANGLE = isl.Set("[n] -> { [i, j] : 0 <= j <= i < n }")


def triangle() -> Count:
    return Count(only_at_sizes(TRIANGLE))


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


def test_json_and_pickle():
    count = 2 * triangle() + Count.from_text("[n] -> { n }")
    for copy in (Count.from_json(count.to_json()), pickle.loads(pickle.dumps(count))):
        assert (15, count.to_json()) == (copy(n=3), copy.to_json())


def test_comparison():
    assert triangle() == triangle()
    with pytest.raises(CountError, match="budget"):
        triangle() == 2 * triangle()  # noqa: B015


def test_too_hard_even_at_sizes(monkeypatch):
    monkeypatch.setattr(arguments, "HARDER", 1)
    monkeypatch.setattr(arguments, "OPERATIONS", 1)
    with pytest.raises(CountError, match="n=5"):
        triangle()(n=5)


def test_points_that_are_listed(monkeypatch):
    # 0 .. 6 and 4 .. 9 overlap in three points
    overlapping = isl.Set("[n] -> { [i] : 0 <= i < n or 4 <= i < n + 3 }")
    monkeypatch.setattr(arguments, "count_points", lambda points, operations: count_points(points, 1))
    assert 10 == arguments.points_at(overlapping, {"n": 7})


def test_a_set_without_a_bound_at_some_sizes():
    points = isl.Set("[n] -> { [i] : i >= 0 and (i < 5 or n > 7) }")
    assert 5 == arguments.points_at(points, {"n": 7})
    with pytest.raises(CountError, match=r"i >= 0.* infinitely many points; give each dimension"):
        arguments.points_at(points, {"n": 8})


def test_too_hard_without_barvinok(monkeypatch):
    monkeypatch.setattr(set_counter, "can_count", lambda: False)
    monkeypatch.setattr(arguments, "can_count", lambda: False)
    monkeypatch.setattr(summation, "SUMS", 1)
    monkeypatch.setattr(arguments, "OPERATIONS", 300)
    band = isl.Set("[n] -> { [i, j] : 0 <= i < n and 2*i <= 3*j <= 2*i + 40 and j < n }")
    with pytest.raises(CountError, match="n=100; install Barvinok"):
        Count(only_at_sizes(band))(n=100)


@pytest.mark.skipif(not can_count(), reason="isl's operations are limited for Barvinok's algorithm")
def test_budget():
    """The number of points of a triangle is counted at sizes where its formula takes too much work."""
    assert () == count_points(TRIANGLE, OPERATIONS).unexpanded
    number = count_points(TRIANGLE, 10)
    assert 28 == Count(number)(n=7)
    assert 1 == len(number.unexpanded)


def test_many_terms_take_more_than_the_budget(monkeypatch):
    monkeypatch.setattr(set_counter, "TERMS", 1)
    assert 28 == Count(count_points(TRIANGLE, OPERATIONS))(n=7)
