"""Estimators in scikit-learn's conventions: rows are measured cases, columns are features.

The matrix is called ``X`` there, and so it is here (hence the noqa: N803).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from perfmodel.errors import (
    BadFeatureValuesError,
    BadTimesError,
    NotFittedError,
    TooFewRowsError,
)
from perfmodel.fit.linear import Array, least_squares


class RelativeLeastSquares:
    r"""Weights that minimise the sum of squared relative errors.

    .. math:: \min_w \sum_j \Big(1 - \frac{\sum_i w_i X_{ji}}{y_j}\Big)^2

    Parameters
    ----------
    nonnegative
        Whether weights below zero are ruled out.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        The weights; 0 for a feature that is zero in every row.
    measured_ : ndarray of bool, shape (n_features,)
        Whether the feature is other than zero in some row.
    rank_, condition_ : int, float
        Of the matrix with rows divided by time and columns of unit length.
    confounded_ : tuple of tuple of int
        Groups of features that the rows cannot tell apart. Of their weights the ones of least norm
        (in the scaled columns) are taken.
    n_features_in_ : int
        Columns of ``X``.

    Notes
    -----
    Source: Stevens and Klöckner, *A Unified, Hardware-Fitted, Cross-GPU Performance Model*,
    section 4.3.

    Examples
    --------
    >>> X = np.array([[1.0, 10.0], [1.0, 1000.0], [1.0, 5000.0]])
    >>> y = X @ np.array([1e-5, 2e-9])
    >>> bool(np.allclose(RelativeLeastSquares().fit(X, y).coef_, [1e-5, 2e-9], rtol=1e-9))
    True
    """

    coef_: Array
    measured_: npt.NDArray[np.bool_]
    rank_: int
    condition_: float
    confounded_: tuple[tuple[int, ...], ...]
    n_features_in_: int

    def __init__(self, *, nonnegative: bool = False) -> None:
        self.nonnegative = nonnegative

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike) -> RelativeLeastSquares:  # noqa: N803
        """Find the weights.

        Parameters
        ----------
        X
            Feature values, shape (n_rows, n_features).
        y
            Measured times [s], shape (n_rows,).

        Raises
        ------
        BadTimesError, BadFeatureValuesError
            If a time is not positive and finite, or a feature value not finite or negative.
        TooFewRowsError
            If there are fewer rows than features exercised, or none is.
        """
        matrix = np.asarray(X, dtype=np.float64)
        times = np.asarray(y, dtype=np.float64)
        _check_times(times)
        _check_values(matrix)
        measured = np.any(matrix != 0, axis=0)
        columns = np.flatnonzero(measured)
        if not 0 < columns.size <= matrix.shape[0]:
            raise TooFewRowsError(matrix.shape[0], tuple(f"column {i}" for i in columns))
        solution = least_squares(
            matrix[:, columns] / times[:, None], np.ones(times.size), self.nonnegative
        )
        self.coef_ = np.zeros(matrix.shape[1])
        self.coef_[columns] = solution.x
        self.measured_ = measured
        self.rank_, self.condition_ = solution.rank, solution.condition
        self.confounded_ = tuple(
            tuple(int(columns[i]) for i in group) for group in solution.confounded
        )
        self.n_features_in_ = matrix.shape[1]
        return self

    def predict(self, X: npt.ArrayLike) -> Array:  # noqa: N803
        """Return the times [s] of rows of feature values, shape (n_rows,)."""
        if not hasattr(self, "coef_"):
            raise NotFittedError(type(self).__name__)
        times: Array = np.asarray(X, dtype=np.float64) @ self.coef_
        return times

    def score(self, X: npt.ArrayLike, y: npt.ArrayLike) -> float:  # noqa: N803
        """Return 1 minus the mean squared relative error; 1 is a perfect fit."""
        return float(1 - np.mean((1 - self.predict(X) / np.asarray(y, dtype=np.float64)) ** 2))


def _check_times(times: npt.NDArray[Any]) -> None:
    bad = np.flatnonzero(~(np.isfinite(times) & (times > 0)))
    if bad.size:
        raise BadTimesError(tuple(bad.tolist()), tuple(times[bad].tolist()))


def _check_values(matrix: npt.NDArray[Any]) -> None:
    rows, columns = np.nonzero(~(np.isfinite(matrix) & (matrix >= 0)))
    if rows.size:
        names = tuple(f"column {i}" for i in np.unique(columns))
        raise BadFeatureValuesError(tuple(np.unique(rows).tolist()), names)
