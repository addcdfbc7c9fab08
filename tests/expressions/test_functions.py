"""The functions of the language: one value for floats and arrays, and ranges that hold the values."""

import itertools
import math

import numpy as np
import pytest

from perfmodel.expressions.functions import EVERYTHING, FUNCTIONS, SCALAR_NAMES, over, power, smooth_max, times

SINGLE = sorted(name for name, function in FUNCTIONS.items() if function.arguments == 1)
POINTS = (-2.5, -1.0, 0.0, 0.5, 1.0, 3.25)


@pytest.mark.parametrize("name", SINGLE)
def test_floats_and_arrays_have_one_value(name):
    function = FUNCTIONS[name]
    with np.errstate(all="ignore"):
        expected = function.array(np.array(POINTS))
    np.testing.assert_allclose([function.scalar(x) for x in POINTS], expected, rtol=1e-15)


@pytest.mark.parametrize("name", SINGLE)
@pytest.mark.parametrize("ends", list(itertools.combinations(POINTS, 2)))
def test_the_range_holds_the_values(name, ends):
    low, high = FUNCTIONS[name].interval(ends)
    values = [FUNCTIONS[name].scalar(x) for x in np.linspace(*ends, 9)]
    assert all(math.isnan(value) or low <= value <= high for value in values)


@pytest.mark.parametrize(("a", "b", "sharpness", "expected"), [(3, 4, 2, 5), (3, 4, 1, 7), (0, 0, 2, 0), (-1, 4, 2, 4)])
def test_the_smooth_maximum(a, b, sharpness, expected):
    assert expected == pytest.approx(float(smooth_max(float(a), float(b), float(sharpness))))
    assert expected == pytest.approx(FUNCTIONS["smooth_max"].scalar(float(a), float(b), float(sharpness)))


def test_division_and_powers_of_floats_never_raise():
    divided, power = SCALAR_NAMES["divided"], SCALAR_NAMES["power"]
    assert (math.inf, -math.inf) == (divided(1.0, 0.0), divided(-1.0, 0.0))
    assert math.isnan(divided(0.0, 0.0))
    assert (math.inf, math.inf) == (power(0.0, -1.0), power(1e300, 2.0))
    assert math.isnan(power(-1.0, 0.5))


INFINITE = math.inf


@pytest.mark.parametrize(("a", "b", "product"), [
    ((1.0, 2.0), (3.0, 4.0), (3.0, 8.0)),
    ((-1.0, 2.0), (3.0, 4.0), (-4.0, 8.0)),
    ((-2.0, -1.0), (-4.0, 3.0), (-6.0, 8.0)),
    ((0.0, 1.0), (0.0, INFINITE), (0.0, INFINITE)),  # 0 times infinity is 0
    ((0.0, 0.0), (-INFINITE, INFINITE), (0.0, 0.0)),
])  # fmt: skip
def test_products(a, b, product):
    assert product == times(a, b) == times(b, a)


@pytest.mark.parametrize(("a", "b", "quotient"), [
    ((1.0, 2.0), (4.0, 8.0), (0.125, 0.5)),
    ((1.0, 2.0), (-4.0, -2.0), (-1.0, -0.25)),
    ((1.0, 2.0), (0.0, 4.0), (0.25, INFINITE)),  # the divisor is above 0
    ((1.0, 2.0), (-4.0, 0.0), (-INFINITE, -0.25)),
    ((1.0, 2.0), (-1.0, 1.0), EVERYTHING),
])  # fmt: skip
def test_quotients(a, b, quotient):
    assert quotient == over(a, b)


@pytest.mark.parametrize(("base", "exponent", "expected"), [
    ((-3.0, 2.0), (2.0, 2.0), (0.0, INFINITE)),  # an even power
    ((-3.0, 2.0), (3.0, 3.0), EVERYTHING),
    ((1.0, 2.0), (0.0, 5.0), (1.0, INFINITE)),
    ((0.5, 2.0), (-1.0, 5.0), (0.0, INFINITE)),
])  # fmt: skip
def test_powers(base, exponent, expected):
    assert expected == power(base, exponent)
