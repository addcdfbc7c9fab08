"""Linear fits of relative errors: planted weights, NIST's certified problems, shared columns, errors, marks."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from perfmodel.errors import FitError
from perfmodel.fitting import Fit, fit_linear, solve_least_squares
from perfmodel.fitting.least_squares import standard_errors
from perfmodel.fitting.weights_file import MEANING, intervals

#: Columns as different in size as launches and operations are.
PLANTED = np.array([2e-5, 3e-9, -4e-12, 5e-11, 0.0])


def case(rows: int = 60, seed: int = 7) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    matrix = np.floor(10 ** rng.uniform([0, 1, 4, 3, 2], [0.1, 5, 9, 8, 6], (rows, 5)))
    matrix[:, 0] = 1
    return matrix, matrix @ PLANTED


def test_planted_weights_are_recovered_and_bounded_ones_are_not_negative():
    matrix, times = case()
    times = np.abs(times) + 1e-6
    matrix = np.column_stack([matrix, (times - matrix @ PLANTED)])
    found = fit_linear(matrix, times)
    np.testing.assert_allclose(found.weights, [*PLANTED, 1.0], rtol=1e-8, atol=1e-20)
    np.testing.assert_allclose(found.predict(matrix), times, rtol=1e-10)
    assert (6, ()) == (found.rank, found.confounded)
    matrix, _ = case()
    times = np.abs(matrix @ PLANTED) + 1e-3
    free = fit_linear(matrix, times)
    bound = fit_linear(matrix, times, nonnegative=True)
    assert bound.weights.min() >= 0 > free.weights.min()
    kept = np.abs(PLANTED)
    again = fit_linear(matrix, matrix @ kept, nonnegative=True)
    np.testing.assert_allclose(again.weights, kept, rtol=1e-8, atol=1e-20)


def test_the_relative_error_is_minimised_not_the_absolute_one():
    # One weight: sum (1 - w x/t)^2 is least at w = sum(x/t) / sum((x/t)^2).
    x, t = np.array([1.0, 10.0, 1000.0]), np.array([2.0, 10.0, 500.0])
    expected = (0.5 + 1 + 2) / (0.25 + 1 + 4)
    found = fit_linear(x[:, None], t)
    assert pytest.approx(expected, rel=1e-13) == found.weights[0]


def test_confounded_columns_share_their_cost():
    a, b, c = np.random.default_rng(1).uniform(1, 2, (3, 30))
    matrix, times = np.column_stack([a, b, 1e9 * a, c, b + c]), 3 * a + 2 * b + c
    found = fit_linear(matrix, times)
    assert 3 == found.rank
    assert ((0, 2), (1, 3, 4)) == found.confounded
    np.testing.assert_allclose(found.weights[[0, 2]], [1.5, 1.5e-9], rtol=1e-9)  # half of the time each
    np.testing.assert_allclose(found.predict(matrix), times, rtol=1e-10)
    assert ["merged"] == [mark for mark in found.marks[0] if mark != "barely"]
    assert "undetermined" in found.marks[1]
    assert np.isinf(found.standard_errors[[1, 3, 4]]).all()
    assert np.isfinite(found.standard_errors[[0, 2]]).all()


def test_weights_of_rows_are_repetitions():
    rng = np.random.default_rng(6)
    matrix, times = rng.uniform(1, 2, (12, 3)), rng.uniform(1, 2, 12)
    often = rng.integers(0, 4, 12)
    expected = fit_linear(np.repeat(matrix, often, 0), np.repeat(times, often))
    found = fit_linear(matrix[often > 0], times[often > 0], often[often > 0])
    np.testing.assert_allclose(found.weights, expected.weights, rtol=1e-10)


def proportional(loads_weight: float = 2.0, **options) -> Fit:
    """Times 5 + 2 loads + 7 operations; there are three stores for each load, and the second column is zero."""
    loads, operations = np.array([1.0, 2.0, 3.0, 5.0, 8.0, 1.0]), np.array([4.0, 1.0, 0.0, 2.0, 3.0, 9.0])
    matrix = np.column_stack([np.ones(6), np.zeros(6), loads, 3 * loads, operations])
    return fit_linear(matrix, 5 + loads_weight * loads + 7 * operations, **options)


def test_proportional_columns_share_their_time_evenly_and_are_held_at_zero_together():
    found = proportional()
    # 2 loads = 1 load + 1/3 of three stores: each of the two has half of the time
    np.testing.assert_allclose(found.weights, [5, 0, 1, 1 / 3, 7], rtol=1e-12)
    assert (((2, 3),), 3) == (found.confounded, found.rank)
    assert ((), (), ("merged",), ("merged",), ()) == found.marks
    assert [False, True, False, False, False] == np.isinf(found.standard_errors).tolist()
    np.testing.assert_allclose(proportional(-0.2).weights, [5, 0, -0.1, -0.1 / 3, 7], rtol=1e-10)
    held = proportional(-0.2, nonnegative=True)
    assert [0.0, 0.0] == held.weights[[2, 3]].tolist()
    assert [("merged", "at bound")] * 2 == list(held.marks[2:4])


def well_determined(rows: int = 80) -> np.ndarray:
    return case(rows, seed=0)[0][:, :4]


def interval(found: Fit, level: float) -> np.ndarray:
    return intervals(found.weights, found.standard_errors, found.degrees_of_freedom, level)


POSITIVE = np.abs(PLANTED[:4])


def test_planted_weights_are_inside_their_intervals_as_often_as_stated():
    matrix = well_determined()
    rng = np.random.default_rng(1)
    inside = []
    for _ in range(150):
        times = matrix @ POSITIVE * (1 + 0.02 * rng.standard_normal(len(matrix)))
        low, high = interval(fit_linear(matrix, times), 0.9).T
        assert np.isfinite(high - low).all()
        inside.append((low <= POSITIVE) & (high >= POSITIVE))
    assert 0.85 <= np.mean(inside) <= 0.95


def test_standard_errors_are_the_textbook_s():
    matrix = well_determined()
    times = matrix @ POSITIVE * np.random.default_rng(2).uniform(0.9, 1.1, len(matrix))
    found = fit_linear(matrix, times)
    scaled = matrix / times[:, None]
    residuals = 1 - scaled @ found.weights
    covariance = np.linalg.inv(scaled.T @ scaled) * (residuals @ residuals / 76)
    np.testing.assert_allclose(found.standard_errors, np.sqrt(np.diag(covariance)), rtol=1e-6)
    half = stats.t.ppf(0.975, 76) * found.standard_errors
    np.testing.assert_allclose(interval(found, 0.95), np.c_[found.weights - half, found.weights + half])
    assert 76 == pytest.approx(found.degrees_of_freedom)


def test_marks():
    rng = np.random.default_rng(4)
    matrix = np.zeros((40, 4))
    matrix[:, 0] = 1
    matrix[:, 1] = rng.uniform(0, 1e-6, 40)  # hardly any time
    matrix[7, 2] = 5  # one row alone
    matrix[:, 3] = rng.uniform(1, 2, 40)
    times = (matrix @ [1.0, 1.0, 1.0, 3.0]) * rng.uniform(0.9, 1.1, 40)
    marks = fit_linear(matrix, times).marks
    assert ((), ("barely",), ("one row",), ()) == marks
    assert set(MEANING) >= {mark for own in marks for mark in own}


def test_a_weight_at_its_bound_is_marked_and_has_an_error():
    rng = np.random.default_rng(5)
    matrix = rng.uniform(1, 2, (50, 3))
    times = matrix @ [3.0, 2.0, -0.5] * rng.uniform(0.98, 1.02, 50)
    found = fit_linear(matrix, times, nonnegative=True)
    assert ((), (), ("at bound",)) == found.marks
    assert 0 == found.weights[2]
    # without its bound it would be known as well as in a fit of all three
    free = fit_linear(matrix, times)
    scaled = matrix / times[:, None]
    ratio = np.std(1 - scaled @ found.weights) / np.std(1 - scaled @ free.weights)
    assert found.standard_errors[2] / free.standard_errors[2] == pytest.approx(ratio, rel=0.1)


@pytest.mark.parametrize("matrix", [np.zeros((3, 2)), np.array([[1.0, 2.0]]), np.zeros((0, 2))])
def test_fewer_rows_than_columns_are_refused(matrix):
    with pytest.raises(FitError, match=f"{len(matrix)} usable measurements cannot determine"):
        fit_linear(matrix, np.ones(len(matrix)), names=("a", "b"))


FOLDER = Path(__file__).parent / "data" / "nist"
CERTIFIED = json.loads((FOLDER / "certified.json").read_text())


def problem(name: str) -> tuple[np.ndarray, np.ndarray]:
    y, *x = np.loadtxt(FOLDER / f"{name}.csv", delimiter=",", skiprows=1).T
    powers = CERTIFIED[name]["powers"]
    if powers is None:
        return np.column_stack([np.ones_like(y), *x]), y
    return np.column_stack([x[0] ** power for power in range(powers[0], powers[1] + 1)]), y


def matching_digits(found: np.ndarray, certified: list[float]) -> float:
    """Least number of digits in which numbers agree; 15 at most."""
    expected = np.array(certified)
    errors = np.abs(found - expected) / np.where(expected == 0, 1, np.abs(expected))
    return float(np.min(-np.log10(np.maximum(errors, 1e-15))))


@pytest.mark.parametrize("name", CERTIFIED)
def test_certified_estimates_and_their_standard_deviations(name):
    matrix, y = problem(name)
    found, certified = solve_least_squares(matrix, y), CERTIFIED[name]
    errors = standard_errors(found.inverse, y - matrix @ found.x, np.ones(len(y)), found.freedom)
    assert matching_digits(found.x, certified["estimates"]) >= 7
    assert matching_digits(errors, certified["standard_deviations"]) >= 7
    assert certified["degrees_of_freedom"] == pytest.approx(found.freedom)
    assert len(found.x) == found.rank


def test_a_plain_solver_fails_on_filip():
    matrix, y = problem("Filip")
    plain = np.linalg.lstsq(matrix, y, rcond=None)[0]
    assert matching_digits(plain, CERTIFIED["Filip"]["estimates"]) < 1
    assert solve_least_squares(matrix, y).condition > 1e9
