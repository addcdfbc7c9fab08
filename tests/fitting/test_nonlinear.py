"""Weights of families that are expressions; starting points, bounds and residuals by hand."""

import math
from dataclasses import replace

import numpy as np
import pytest

from perfmodel.errors import FitError, OptionError
from perfmodel.expressions.expression import parse
from perfmodel.fitting import fit_linear
from perfmodel.fitting.least_squares import Problem, WeightBounds, balanced, fit_nonlinear, start_points
from perfmodel.fitting.weights_file import intervals

NAMES = ("launches", "chip", "memory")
OVERLAP = parse("w_launch*launches + smooth_max(w_chip*chip, w_memory*memory, w_sharpness)", NAMES)
MAXIMUM = parse("w_launch*launches + max(w_chip*chip, w_memory*memory)", NAMES)
PLANTED = {"w_launch": 1e-5, "w_chip": 2e-11, "w_memory": 3e-10, "w_sharpness": 3.0}
BOUNDS = {"w_sharpness": (1.0, 64.0)}
START = {"w_sharpness": 8.0}


def linear(*features):
    return parse(" + ".join(f"w_{name}*{name}" for name in features), features)


def cases(rows: int = 80, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.column_stack([np.ones(rows), *10 ** rng.uniform(4, 9, (2, rows))])


def times(expression, matrix):
    values = dict(zip(expression.features, matrix.T, strict=True))
    return expression.value(values, [PLANTED[name] for name in expression.weights])


def fitted(expression, matrix, times, bounds=BOUNDS, start=START, **options):
    return fit_nonlinear(expression, matrix, times, np.ones(len(times)), bounds, start, **options)


@pytest.mark.parametrize("expression", [OVERLAP, MAXIMUM], ids=lambda one: one.text)
def test_planted_weights_are_recovered(expression):
    matrix = cases()
    found = fitted(expression, matrix, times(expression, matrix))
    np.testing.assert_allclose(found.weights, [PLANTED[name] for name in expression.weights], rtol=1e-8)
    assert (True, len(expression.weights)) == (found.converged, found.rank)
    np.testing.assert_allclose(found.predict(matrix), times(expression, matrix), rtol=1e-8)


def test_noisy_trials_are_inside_their_intervals():
    matrix, rng, inside = cases(), np.random.default_rng(1), []
    exact = times(MAXIMUM, matrix)
    planted = [PLANTED[name] for name in MAXIMUM.weights]
    for _ in range(60):
        found = fitted(MAXIMUM, matrix, exact * (1 + 0.02 * rng.standard_normal(len(matrix))), starts=1)
        low, high = intervals(found.weights, found.standard_errors, found.degrees_of_freedom).T
        inside.append((low <= planted) & (planted <= high))
    assert 0.82 <= np.mean(inside) <= 0.97


def test_a_linear_expression_gives_the_weights_of_the_linear_estimator():
    rng = np.random.default_rng(2)
    matrix = 10 ** rng.uniform(0, 4, (60, 3))
    noisy = matrix @ [1.0, 2.0, 0.0] * rng.lognormal(0, 0.2, 60)
    expected = fit_linear(matrix, noisy, nonnegative=True)
    found = fitted(linear("launches", "work_groups", "barrier_local"), matrix, noisy)
    np.testing.assert_allclose(found.weights, expected.weights, rtol=1e-6, atol=1e-12)
    free = [i for i in range(3) if expected.weights[i] > 0]
    np.testing.assert_allclose(found.standard_errors[free], expected.standard_errors[free], rtol=1e-6)


def test_weights_at_bounds_are_marked():
    rng = np.random.default_rng(3)
    matrix = rng.uniform(1, 2, (50, 3))
    noisy = matrix @ [3.0, 2.0, -0.5] * rng.uniform(0.98, 1.02, 50)
    found = fitted(linear("launches", "work_groups", "barrier_local"), matrix, noisy)
    assert ("at bound",) == found.marks[2]
    assert (0.0, np.inf) == (found.weights[2], found.standard_errors[2])
    matrix = cases()
    found = fitted(OVERLAP, matrix, times(OVERLAP, matrix), bounds={"w_sharpness": (1.0, 2.5)})
    assert (2.5, ("at bound",)) == (found.weights[3], found.marks[3])


def test_a_branch_that_no_row_takes_is_not_determined():
    matrix = cases()
    matrix[:, 1] = matrix[:, 2]
    found = fitted(MAXIMUM, matrix, matrix @ [1e-5, 0.0, 3e-10], start={"w_chip": 1e-12, "w_memory": 3e-10}, starts=1)
    assert (("undetermined",), ()) == (found.marks[1], found.marks[2])
    assert np.isinf(found.standard_errors[1])


def test_refused_options():
    nowhere = parse("w_a*launches/(0*chip)", NAMES)
    with pytest.raises(FitError, match="none of 3 starting points"):
        fitted(nowhere, cases()[:, :2], np.ones(80), starts=3)
    with pytest.raises(OptionError, match="0 starting points"):
        fitted(MAXIMUM, cases(), np.ones(80), starts=0)


ROWS = {"launches": np.ones(3), "loads": np.array([10.0, 40.0, 90.0])}
FREE = WeightBounds(np.full(2, -np.inf), np.full(2, np.inf))
LINEAR = Problem(linear(*ROWS), ROWS, np.array([2.0, 5.0, 10.0]), np.array([0.5, 1.0, 2.0]), FREE)
CURVED = replace(LINEAR, model=parse("max(w_a*launches, w_b*loads**0.5)", ("launches", "loads")))


@pytest.mark.parametrize("problem", [LINEAR, CURVED], ids=["linear", "curved"])
def test_slopes_are_the_residuals_derivatives(problem: Problem):
    at, step = np.array([4.0, 1.0]), 1e-6  # the maximum is the first term in one row and the second in two
    for k in range(2):
        shift = step * np.eye(2)[k]
        difference = (problem.residuals(at - shift) - problem.residuals(at + shift)) / (2 * step)
        np.testing.assert_allclose(problem.slopes(at)[:, k], difference, rtol=1e-7, atol=1e-9)


def test_one_run_finds_the_weights_within_their_bounds_by_relative_weighted_residuals():
    found = LINEAR.solve(np.array([10.0, 10.0]))
    assert found is not None
    np.testing.assert_allclose(found.weights, [1.0, 0.1], rtol=1e-9)
    # with the second weight at 0.2 or above, 2 of 3 times are too long: it stays at its bound
    bounds = WeightBounds(np.array([0.0, 0.2]), np.array([np.inf, 1.0]))
    bounded = replace(LINEAR, bounds=bounds).solve(np.array([1.0, 0.5]))
    assert bounded is not None
    np.testing.assert_allclose(bounded.weights, [0.0, 0.2], atol=1e-9)
    infinite = replace(LINEAR, model=parse("launches/w_a + w_b*loads", ("launches", "loads")))
    assert infinite.solve(np.array([0.0, 1.0])) is None
    # times 1 + 0.1 loads are 2, 5, 10; with 2 + 0.1 loads they are 3, 6, 11
    np.testing.assert_allclose(LINEAR.residuals(np.array([1.0, 0.1])), 0, atol=1e-15)
    np.testing.assert_allclose(LINEAR.residuals(np.array([2.0, 0.1])), [-0.5 / 2, -1 / 5, -2 / 10], rtol=1e-12)


NONE = np.array([np.nan, np.nan])
POSITIVE = WeightBounds(np.zeros(2), np.full(2, np.inf))


def constant(matrix):
    """The derivatives of a linear model are its matrix at all weights."""
    return lambda weights: np.asarray(matrix, dtype=np.float64)


def test_points_vary_by_decades_within_bounds_and_less_where_a_start_is_given():
    bounds = WeightBounds(np.zeros(4), np.array([10.0, 10.0, 10.0, np.inf]))
    assert pytest.approx([0.01, 9.99, 5.0, 0.0]) == bounds.clipped(np.array([-1.0, 20.0, 5.0, -3.0]))
    given = np.array([np.nan, 8.0])
    points = list(start_points(constant([[5.0, 1.0]]), given, POSITIVE, 200, np.random.default_rng(1)))
    assert 200 == len(points)
    assert pytest.approx([0.1, 8.0]) == points[0]
    decades = np.abs(np.log10(np.array(points) / points[0])).max(axis=0)
    assert 1.4 < decades[0] <= 1.5
    assert 0.14 < decades[1] <= 0.15
    again = list(start_points(constant([[5.0, 1.0]]), given, POSITIVE, 200, np.random.default_rng(1)))
    np.testing.assert_array_equal(points, again)


def test_balanced_weights_give_each_term_an_equal_share():
    # the columns' root mean squares are 5 and 2; with two weights each is to be worth one half
    found = balanced(constant([[3 * math.sqrt(2), 2.0], [4 * math.sqrt(2), 2.0]]), NONE, POSITIVE)
    assert pytest.approx([0.1, 0.25]) == found
    assert pytest.approx([7.0, 0.25]) == balanced(constant([[1.0, 2.0]]), np.array([7.0, np.nan]), POSITIVE)
    assert pytest.approx([0.1, 1.0]) == balanced(constant([[5.0, 0.0]]), NONE, POSITIVE)

    def slopes(weights):  # of max(w0 * 1000, w1): the smaller one has no derivative in the first round
        return np.array([[1000.0, 0.0]]) if 1000 * weights[0] >= weights[1] else np.array([[0.0, 1.0]])

    assert pytest.approx([5e-4, 0.5]) == balanced(slopes, NONE, POSITIVE)
