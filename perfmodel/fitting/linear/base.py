"""What the estimators share: scikit-learn's conventions for fitted weights, scores and tags.

The matrix is called ``X`` there, and so it is here (hence the noqa: N803).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import sklearn.exceptions
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import validate_data

from perfmodel.errors import NotFittedError
from perfmodel.fitting.linear.diagnosis import Mark, intervals
from perfmodel.fitting.linear.least_squares import Array
from perfmodel.fitting.linear.merged_linear import LinearFit


class UnfittedError(NotFittedError, sklearn.exceptions.NotFittedError):  # type: ignore[misc]
    """perfmodel's error for an estimator without weights, which scikit-learn knows for its own."""


class FeatureEstimator(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """What the estimators share once they are fitted."""

    coef_: Array
    standard_errors_: Array
    degrees_of_freedom_: float
    n_features_in_: int

    def intervals(self, level: float = 0.9) -> Array:
        """Return the weights' intervals at a level, shape (n_features, 2)."""
        self._check_fitted()
        return intervals(self.coef_, self.standard_errors_, self.degrees_of_freedom_, level)

    def predict(self, X: npt.ArrayLike) -> Array:  # noqa: N803
        """Return the times [s] of rows of feature values, shape (n_rows,)."""
        times: Array = self._rows(X) @ self.coef_
        return times

    def _rows(self, X: npt.ArrayLike) -> Array:  # noqa: N803
        self._check_fitted()
        rows: Array = validate_data(self, X, dtype=np.float64, reset=False)
        return rows

    def _check_fitted(self) -> None:
        if not hasattr(self, "coef_"):
            raise UnfittedError(type(self).__name__)

    def _keep(self, found: LinearFit) -> None:
        columns, count = found.columns, self.n_features_in_
        self.coef_ = np.zeros(count)
        self.coef_[columns] = found.coefficients
        self.standard_errors_ = np.full(count, np.inf)
        self.standard_errors_[columns] = found.errors
        marks: list[tuple[Mark, ...]] = [()] * count
        for column, own in zip(columns, found.marks, strict=True):
            marks[column] = own
        self.marks_ = tuple(marks)
        self.measured_ = np.isin(np.arange(count), columns)
        self.degrees_of_freedom_ = found.solution.freedom
        self.rank_, self.condition_ = found.solution.rank, found.solution.condition
        self.confounded_, self.merged_ = found.confounded, found.merged
        self.n_iter_, self.converged_ = found.iterations, found.converged


def relative_score(predicted: Array, times: npt.ArrayLike, sample_weight: Any = None) -> float:
    """Return 1 minus the mean squared relative error of predicted times."""
    errors = (1 - predicted / np.asarray(times, dtype=np.float64)) ** 2
    return float(1 - np.average(errors, weights=sample_weight))


def positive_tags(tags: Any) -> Any:
    """Mark that rows and targets are positive."""
    tags.input_tags.positive_only = True
    tags.target_tags.positive_only = True
    return tags
