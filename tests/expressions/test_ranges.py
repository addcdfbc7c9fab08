"""Ranges of sums, products, quotients and powers, by hand."""

from __future__ import annotations

import math

import pytest

from perfmodel.expressions.functions import EVERYTHING
from perfmodel.expressions.ranges import hull, negative, over, plus, power, times

INFINITE = math.inf


def test_sums_and_signs():
    assert (0.0, INFINITE) == plus((-1.0, 2.0), (1.0, INFINITE))
    assert (-2.0, 1.0) == negative((-1.0, 2.0))


@pytest.mark.parametrize(
    ("a", "b", "product"),
    [
        ((1.0, 2.0), (3.0, 4.0), (3.0, 8.0)),
        ((-1.0, 2.0), (3.0, 4.0), (-4.0, 8.0)),
        ((-2.0, -1.0), (-4.0, 3.0), (-6.0, 8.0)),
        ((0.0, 1.0), (0.0, INFINITE), (0.0, INFINITE)),  # 0 times infinity is 0
        ((0.0, 0.0), (-INFINITE, INFINITE), (0.0, 0.0)),
    ],
)
def test_products(a, b, product):
    assert product == times(a, b) == times(b, a)


@pytest.mark.parametrize(
    ("a", "b", "quotient"),
    [
        ((1.0, 2.0), (4.0, 8.0), (0.125, 0.5)),
        ((1.0, 2.0), (-4.0, -2.0), (-1.0, -0.25)),
        ((1.0, 2.0), (0.0, 4.0), (0.25, INFINITE)),  # the divisor is above 0
        ((1.0, 2.0), (-4.0, 0.0), (-INFINITE, -0.25)),
        ((1.0, 2.0), (-1.0, 1.0), EVERYTHING),
    ],
)
def test_quotients(a, b, quotient):
    assert quotient == over(a, b)


@pytest.mark.parametrize(
    ("base", "exponent", "expected"),
    [
        ((-3.0, 2.0), (2.0, 2.0), (0.0, INFINITE)),  # an even power
        ((-3.0, 2.0), (3.0, 3.0), EVERYTHING),
        ((1.0, 2.0), (0.0, 5.0), (1.0, INFINITE)),
        ((0.5, 2.0), (-1.0, 5.0), (0.0, INFINITE)),
    ],
)
def test_powers(base, exponent, expected):
    assert expected == power(base, exponent)


def test_the_hull_holds_both():
    assert (-1.0, 5.0) == hull((-1.0, 2.0), (3.0, 5.0))
