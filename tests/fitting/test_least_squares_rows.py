"""The rows of a fit: what is refused, left out and weighted."""

from __future__ import annotations

import numpy as np
import pytest

from perfmodel.errors import BadFeatureValuesError, BadTimesError
from perfmodel.fitting import OrdinaryLeastSquares, RelativeLeastSquares
from perfmodel.fitting.least_squares import column_names, training_rows

X = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
Y = np.array([1.0, 2.0, 3.0])


def test_weights_are_one_on_average_and_rows_of_weight_zero_are_left_out():
    rows = training_rows(RelativeLeastSquares(names=("a", "b")), X, Y, [1.0, 0.0, 3.0], positive=True)
    assert ([[1.0, 2.0], [5.0, 6.0]], [1.0, 3.0]) == (rows.matrix.tolist(), rows.times.tolist())
    assert [0.5, 1.5] == rows.weights.tolist()
    assert ("a", "b") == rows.names


def test_without_weights_each_row_counts_once():
    estimator = RelativeLeastSquares()
    rows = training_rows(estimator, X, Y, None, positive=True)
    assert [1.0] * 3 == rows.weights.tolist()
    assert (2, ("column 0", "column 1")) == (estimator.n_features_in_, rows.names)


@pytest.mark.parametrize("time", [0.0, -1.0, np.nan, np.inf])
def test_times_that_cannot_be_are_named(time):
    with pytest.raises(BadTimesError) as caught:
        training_rows(RelativeLeastSquares(), X, [1.0, time, 3.0], None, positive=True)
    assert (1,) == caught.value.rows


def test_values_that_cannot_be_are_named():
    bad = X.copy()
    bad[0, 1], bad[2, 1] = np.nan, -1.0
    with pytest.raises(BadFeatureValuesError) as caught:
        training_rows(RelativeLeastSquares(names=("a", "b")), bad, Y, None, positive=True)
    assert ((0, 2), ("b",)) == (caught.value.rows, caught.value.names)
    with pytest.raises(BadFeatureValuesError) as caught:  # of any data only what is not finite is refused
        training_rows(OrdinaryLeastSquares(names=("a", "b")), bad, -Y, None, positive=False)
    assert (0,) == caught.value.rows


def test_negative_weights_are_refused():
    with pytest.raises(ValueError, match="egative"):
        training_rows(RelativeLeastSquares(), X, Y, [1.0, -1.0, 1.0], positive=True)


def test_names_are_those_given_before_those_of_a_frame():
    estimator = RelativeLeastSquares(names=("a", "b"))
    estimator.feature_names_in_ = np.array(["c", "d"])
    assert ("a", "b") == column_names(estimator)
    assert ("c", "d") == column_names(estimator.set_params(names=None))
