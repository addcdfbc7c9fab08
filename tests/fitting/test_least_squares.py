from __future__ import annotations

import numpy as np
import pytest

from perfmodel.errors import (
    BadFeatureValuesError,
    BadRidgeError,
    BadTimesError,
    ConfoundedFeaturesError,
    NotFittedError,
    TooFewRowsError,
)
from perfmodel.fitting import OrdinaryLeastSquares, RelativeLeastSquares

# Columns as far apart as launches and operations are.
PLANTED = np.array([2e-5, 3e-9, -4e-12, 5e-11, 0.0])


def case(rows: int = 60, seed: int = 7) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    matrix = np.floor(10 ** rng.uniform([0, 1, 4, 3, 2], [0.1, 5, 9, 8, 6], (rows, 5)))
    matrix[:, 0] = 1
    return matrix, matrix @ PLANTED


def test_planted_weights_are_recovered():
    matrix, times = case()
    times = np.abs(times) + 1e-6
    matrix = np.column_stack([matrix, (times - matrix @ PLANTED)])
    found = RelativeLeastSquares().fit(matrix, times)
    np.testing.assert_allclose(found.coef_, [*PLANTED, 1.0], rtol=1e-8, atol=1e-20)
    np.testing.assert_allclose(found.predict(matrix), times, rtol=1e-10)
    assert 6 == found.rank_
    assert () == found.confounded_
    assert abs(1 - found.score(matrix, times)) < 1e-12


def test_the_relative_error_is_minimised_not_the_absolute_one():
    # One weight: sum (1 - w x/t)^2 is least at w = sum(x/t) / sum((x/t)^2).
    x, t = np.array([1.0, 10.0, 1000.0]), np.array([2.0, 10.0, 500.0])
    expected = (0.5 + 1 + 2) / (0.25 + 1 + 4)
    found = RelativeLeastSquares().fit(x[:, None], t)
    assert pytest.approx(expected, rel=1e-13) == found.coef_[0]
    errors = 1 - expected * x / t
    assert pytest.approx(1 - np.mean(errors**2), rel=1e-13) == found.score(x[:, None], t)


def confounded() -> tuple[np.ndarray, np.ndarray]:
    a, b, c = np.random.default_rng(1).uniform(1, 2, (3, 30))
    return np.column_stack([a, b, 1e9 * a, c, b + c]), 3 * a + 2 * b + c


def test_columns_that_cannot_be_told_apart_are_refused_by_name():
    with pytest.raises(ConfoundedFeaturesError) as caught:
        RelativeLeastSquares(names=("a", "b", "many a", "c", "b + c")).fit(*confounded())
    assert (("a", "many a"), ("b", "c", "b + c")) == caught.value.groups
    assert (3, 5) == (caught.value.rank, caught.value.columns)
    with pytest.raises(ConfoundedFeaturesError, match="column 0, column 2"):
        OrdinaryLeastSquares().fit(*confounded())


def test_merged_columns_share_what_they_cost_together():
    matrix, times = confounded()
    found = RelativeLeastSquares(merge=True).fit(matrix, times)
    assert 3 == found.rank_
    assert ((0, 2), (1, 3, 4)) == found.confounded_
    assert ((0, 2),) == found.merged_
    # equal times: both copies of a carry half of it
    np.testing.assert_allclose(found.coef_[[0, 2]], [1.5, 1.5e-9], rtol=1e-9)
    np.testing.assert_allclose(found.predict(matrix), times, rtol=1e-10)
    assert ["merged"] == [mark for mark in found.marks_[0] if mark != "barely"]
    assert "undetermined" in found.marks_[1]
    assert np.isinf(found.standard_errors_[[1, 3, 4]]).all()
    assert np.isfinite(found.standard_errors_[[0, 2]]).all()


def test_a_merged_weight_has_the_standard_error_of_the_whole():
    rng = np.random.default_rng(3)
    a, b = rng.uniform(1, 2, (2, 40))
    times = (4 * a + b) * rng.uniform(0.95, 1.05, 40)
    whole = RelativeLeastSquares().fit(np.column_stack([a, b]), times)
    halves = RelativeLeastSquares(merge=True).fit(np.column_stack([a, b, a]), times)
    np.testing.assert_allclose(halves.coef_[[0, 2]], whole.coef_[0] / 2, rtol=1e-10)
    np.testing.assert_allclose(halves.standard_errors_[[0, 2]], whole.standard_errors_[0] / 2, rtol=1e-8)


def test_a_ridge_tells_them_apart():
    matrix, times = confounded()
    found = RelativeLeastSquares(ridge=1e-8).fit(matrix, times)
    np.testing.assert_allclose(found.coef_[[0, 2]], [1.5, 1.5e-9], rtol=1e-4)
    assert np.isfinite(found.standard_errors_).all()


def test_a_ridge_is_the_normal_equations_with_a_longer_diagonal():
    rng = np.random.default_rng(5)
    matrix, times = 10 ** rng.uniform(0, 3, (20, 3)), rng.uniform(1, 2, 20)
    scaled = matrix / times[:, None]
    gram = scaled.T @ scaled
    expected = np.linalg.solve(gram + 0.1 * np.diag(np.diag(gram)), scaled.sum(axis=0))
    np.testing.assert_allclose(RelativeLeastSquares(ridge=0.1).fit(matrix, times).coef_, expected, rtol=1e-9)


@pytest.mark.parametrize("wrong", [-0.1, np.nan, np.inf])
def test_a_ridge_that_is_none(wrong):
    with pytest.raises(BadRidgeError, match="ridge is"):
        RelativeLeastSquares(ridge=wrong).fit([[1.0]], [1.0])


def test_weights_of_rows_are_repetitions():
    rng = np.random.default_rng(6)
    matrix, times = rng.uniform(1, 2, (12, 3)), rng.uniform(1, 2, 12)
    often = rng.integers(0, 4, 12)
    expected = RelativeLeastSquares().fit(np.repeat(matrix, often, 0), np.repeat(times, often))
    found = RelativeLeastSquares().fit(matrix, times, sample_weight=often)
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=1e-10)


def test_nonnegative_weights():
    matrix, _ = case()
    times = np.abs(matrix @ PLANTED) + 1e-3
    free = RelativeLeastSquares().fit(matrix, times)
    bound = RelativeLeastSquares(nonnegative=True).fit(matrix, times)
    assert bound.coef_.min() >= 0 > free.coef_.min()
    assert bound.score(matrix, times) <= free.score(matrix, times)
    kept = np.abs(PLANTED)
    again = RelativeLeastSquares(nonnegative=True).fit(matrix, matrix @ kept)
    np.testing.assert_allclose(again.coef_, kept, rtol=1e-8, atol=1e-20)


def test_a_column_of_zeros_is_left_out():
    matrix, _ = case()
    matrix[:, 3] = 0
    found = RelativeLeastSquares().fit(matrix, matrix @ np.abs(PLANTED))
    assert [True, True, True, False, True] == found.measured_.tolist()
    assert 0 == found.coef_[3]
    assert 4 == found.rank_
    assert 5 == found.n_features_in_


@pytest.mark.parametrize("wrong", [0.0, -1e-3, np.nan, np.inf])
def test_times_without_a_relative_error_are_refused(wrong):
    matrix, _ = case()
    times = np.ones(60)
    times[[4, 9]] = wrong
    with pytest.raises(BadTimesError) as caught:
        RelativeLeastSquares().fit(matrix, times)
    assert (4, 9) == caught.value.rows
    assert "row 4" in str(caught.value)


@pytest.mark.parametrize("wrong", [-1.0, np.nan, np.inf])
def test_values_that_count_nothing_are_refused(wrong):
    matrix, _ = case()
    matrix[2, 1] = wrong
    with pytest.raises(BadFeatureValuesError) as caught:
        RelativeLeastSquares().fit(matrix, np.ones(60))
    assert (2,) == caught.value.rows
    assert ("column 1",) == caught.value.names


@pytest.mark.parametrize("rows", [0, 3])
def test_fewer_rows_than_features_are_refused(rows):
    matrix, _ = case()
    with pytest.raises(TooFewRowsError) as caught:
        RelativeLeastSquares().fit(matrix[:rows], np.ones(rows))
    assert rows == caught.value.rows


def test_a_prediction_needs_a_fit():
    with pytest.raises(NotFittedError):
        RelativeLeastSquares().predict([[1.0]])
