from __future__ import annotations

import numpy as np
import pytest

from perfmodel.errors import (
    BadFeatureValuesError,
    BadTimesError,
    NotFittedError,
    TooFewRowsError,
)
from perfmodel.fit import RelativeLeastSquares, least_squares

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


def test_wampler_1_of_the_nist_reference_data():
    # y = 1 + x + ... + x^5 at x = 0 ... 20; every certified coefficient is 1.
    matrix = np.vander(np.arange(21.0), 6, increasing=True)
    found = least_squares(matrix, matrix.sum(axis=1))
    assert 6 == found.rank
    np.testing.assert_allclose(found.x, np.ones(6), rtol=1e-9)


def test_equal_and_dependent_columns_are_named_and_shared_out():
    rng = np.random.default_rng(1)
    a, b, c = rng.uniform(1, 2, (3, 30))
    matrix = np.column_stack([a, b, 1e9 * a, c, b + c])
    times = 3 * a + 2 * b + c
    found = RelativeLeastSquares().fit(matrix, times)
    assert 3 == found.rank_
    assert ((0, 2), (1, 3, 4)) == found.confounded_
    # least norm in columns of unit length: both copies of a carry half
    np.testing.assert_allclose(found.coef_[[0, 2]], [1.5, 1.5e-9], rtol=1e-9)
    np.testing.assert_allclose(found.predict(matrix), times, rtol=1e-10)


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
