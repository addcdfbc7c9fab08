"""Residuals and their derivatives, by hand and by differences."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from perfmodel.expressions import linear
from perfmodel.expressions.expression import parse
from perfmodel.fitting.least_squares import TrainingRows
from perfmodel.fitting.nonlinear import Problem, WeightBounds

ROWS = TrainingRows(
    np.array([[1.0, 10.0], [1.0, 40.0], [1.0, 90.0]]), np.array([2.0, 5.0, 10.0]), np.array([0.25, 1.0, 4.0]),
    ("launches", "loads"),
)  # fmt: skip
FREE = WeightBounds(np.full(2, -np.inf), np.full(2, np.inf))
LINEAR = Problem(linear(("launches", "loads")), ROWS, FREE)
CURVED = replace(LINEAR, model=parse("max(w_a*launches, w_b*loads**0.5)", ("launches", "loads")))


def test_residuals_are_relative_and_weighted() -> None:
    # times 1 + 0.1 loads are 2, 5, 10; with 2 + 0.1 loads they are 3, 6, 11
    np.testing.assert_allclose(LINEAR.residuals(np.array([1.0, 0.1])), 0, atol=1e-15)
    np.testing.assert_allclose(LINEAR.residuals(np.array([2.0, 0.1])), [-0.5 / 2, -1 / 5, -2 / 10], rtol=1e-12)


def test_slopes_are_the_relative_columns() -> None:
    expected = [[0.5 / 2, 0.5 * 10 / 2], [1 / 5, 40 / 5], [2 / 10, 2 * 90 / 10]]
    np.testing.assert_allclose(LINEAR.slopes(np.array([7.0, 7.0])), expected)


@pytest.mark.parametrize("problem", [LINEAR, CURVED], ids=["linear", "curved"])
def test_slopes_are_the_residuals_derivatives(problem: Problem) -> None:
    at, step = np.array([4.0, 1.0]), 1e-6  # the maximum is the first term in one row and the second in two
    for k in range(2):
        shift = step * np.eye(2)[k]
        difference = (problem.residuals(at - shift) - problem.residuals(at + shift)) / (2 * step)
        np.testing.assert_allclose(problem.slopes(at)[:, k], difference, rtol=1e-7, atol=1e-9)


def test_one_run_finds_the_weights_and_keeps_the_box() -> None:
    found = LINEAR.solve(np.array([10.0, 10.0]))
    assert found is not None
    np.testing.assert_allclose(found.weights, [1.0, 0.1], rtol=1e-9)
    # with the second weight at 0.2 or above, 2 of 3 times are too long: it stays at its bound
    box = WeightBounds(np.array([0.0, 0.2]), np.array([np.inf, 1.0]))
    bounded = replace(LINEAR, box=box).solve(np.array([1.0, 0.5]))
    assert bounded is not None
    np.testing.assert_allclose(bounded.weights, [0.0, 0.2], atol=1e-9)


def test_a_start_without_finite_residuals_is_given_up() -> None:
    infinite = replace(LINEAR, model=parse("launches/w_a + w_b*loads", ("launches", "loads")))
    assert infinite.solve(np.array([0.0, 1.0])) is None
