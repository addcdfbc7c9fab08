"""Boxes and starting points, by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from perfmodel.fitting.nonlinear import WeightBounds, balanced, bounds_of, start_points, starts_of

NONE = np.array([np.nan, np.nan])
POSITIVE = WeightBounds(np.zeros(2), np.full(2, np.inf))


def linear(matrix):
    """The derivatives of a linear model are its matrix, whatever the weights."""
    return lambda weights: np.asarray(matrix, dtype=np.float64)


def test_bounds_are_given_or_from_zero_up():
    box = bounds_of(("a", "b"), {"b": (1.0, 64.0)}, nonnegative=True)
    assert ([0.0, 1.0], [math.inf, 64.0]) == (box.lower.tolist(), box.upper.tolist())
    assert [-math.inf, -math.inf] == bounds_of(("a", "b"), None, nonnegative=False).lower.tolist()


def test_starts_that_are_not_given_are_nan():
    assert str([math.nan, 4.0]) == str(starts_of(("a", "b"), {"b": 4.0}).tolist())
    assert str([math.nan]) == str(starts_of(("a",), None).tolist())


def test_a_point_is_moved_off_the_faces_of_a_box():
    # a thousandth of the width 10 at either end; a side without an end has no margin
    box = WeightBounds(np.array([0.0, 0.0, 0.0, 0.0]), np.array([10.0, 10.0, 10.0, np.inf]))
    assert pytest.approx([0.01, 9.99, 5.0, 0.0]) == box.clipped(np.array([-1.0, 20.0, 5.0, -3.0]))


def test_balanced_weights_give_each_term_an_equal_share():
    # the columns' root mean squares are 5 and 2; with two weights each is to be worth one half
    found = balanced(linear([[3 * math.sqrt(2), 2.0], [4 * math.sqrt(2), 2.0]]), NONE, POSITIVE)
    assert pytest.approx([0.1, 0.25]) == found
    assert pytest.approx([7.0, 0.25]) == balanced(linear([[1.0, 2.0]]), np.array([7.0, np.nan]), POSITIVE)
    assert pytest.approx([0.1, 1.0]) == balanced(linear([[5.0, 0.0]]), NONE, POSITIVE)  # nothing depends on the second


def test_a_term_behind_a_maximum_is_balanced_in_a_later_round():
    def slopes(weights):  # of max(w0 * 1000, w1): the smaller one has no derivative
        return np.array([[1000.0, 0.0]]) if 1000 * weights[0] >= weights[1] else np.array([[0.0, 1.0]])

    assert pytest.approx([5e-4, 0.5]) == balanced(slopes, NONE, POSITIVE)


def test_points_vary_by_decades_and_less_where_a_start_is_given():
    given = np.array([np.nan, 8.0])
    points = list(start_points(linear([[5.0, 1.0]]), given, POSITIVE, 200, np.random.default_rng(1)))
    assert 200 == len(points)
    assert pytest.approx([0.1, 8.0]) == points[0]
    decades = np.abs(np.log10(np.array(points) / points[0])).max(axis=0)
    assert 1.4 < decades[0] <= 1.5
    assert 0.14 < decades[1] <= 0.15
    again = list(start_points(linear([[5.0, 1.0]]), given, POSITIVE, 200, np.random.default_rng(1)))
    np.testing.assert_array_equal(points, again)
