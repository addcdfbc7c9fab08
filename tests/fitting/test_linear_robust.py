"""Robust losses: the weights of rows at given residuals, and the iteration that finds them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from perfmodel.errors import UnknownLossError
from perfmodel.fitting.linear import STEPS, TUNING, check_loss, reweighted, row_weights, spread


def test_a_loss_that_does_not_exist():
    for loss in TUNING:
        check_loss(loss)
    with pytest.raises(UnknownLossError) as caught:
        check_loss("square")
    assert tuple(TUNING) == caught.value.allowed


def test_the_spread_is_the_scaled_median_of_sizes():
    assert pytest.approx(1.4826 * 2) == spread(np.array([-1.0, 2.0, 100.0]))


@pytest.mark.parametrize(
    ("loss", "expected"),
    [
        ("linear", [1.0, 1.0, 1.0]),
        ("huber", [1.0, 1.0, 1 / 3]),  # one over |r|/c beyond c
        ("soft_l1", [1.0, 1 / math.sqrt(2), 1 / math.sqrt(10)]),  # one over the root of 1 + (r/c)^2
        ("cauchy", [1.0, 1 / 2, 1 / 10]),  # one over 1 + (r/c)^2
    ],
)
def test_weights_of_rows(loss, expected):
    assert pytest.approx(expected) == row_weights(loss, np.array([0.0, 2.0, -6.0]), 2.0)


VALUES = np.array([1.0, 1.1, 0.9, 1.05, 0.95, 50.0])


def mean(weights):
    return np.array([np.sum(weights * VALUES) / np.sum(weights)])


def test_least_squares_need_one_step():
    weights, steps, converged = reweighted(mean, lambda x: VALUES - x, len(VALUES), "linear")
    assert ([1.0] * 6, 1, True) == (weights.tolist(), steps, converged)


@pytest.mark.parametrize("loss", ["huber", "cauchy"])
def test_the_weights_follow_from_the_residuals_that_they_lead_to(loss):
    weights, steps, converged = reweighted(mean, lambda x: VALUES - x, len(VALUES), loss)
    assert converged
    assert 1 < steps < STEPS
    residuals = VALUES - mean(weights)
    again = row_weights(loss, residuals, TUNING[loss] * spread(residuals))
    assert pytest.approx(weights, abs=1e-6) == again
    assert weights[5] < 0.05
    assert abs(mean(weights)[0] - 1) < 0.1  # the plain mean is 9.2


def test_rows_that_are_met_exactly_end_it():
    _, steps, converged = reweighted(lambda weights: np.array([1.0]), lambda x: np.zeros(4), 4, "huber")
    assert (1, True) == (steps, converged)


def test_weights_that_never_stand_are_said_so():
    residuals = iter(np.array([[1.0, 1.0, 1.0, 9.0], [9.0, 1.0, 1.0, 1.0]] * STEPS))
    _, steps, converged = reweighted(lambda weights: weights, lambda x: next(residuals), 4, "huber")
    assert (STEPS, False) == (steps, converged)
