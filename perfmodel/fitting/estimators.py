"""Estimators of relative errors in scikit-learn's conventions: linear and non-linear least squares.

Rows are measured cases, columns are features. The matrix is called ``X``, as in scikit-learn (hence the noqa: N803).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from perfmodel.errors import FitError, OptionError, listed
from perfmodel.expressions import Expression, linear
from perfmodel.fitting.least_squares import Array, fit_linear, too_few_rows, training_rows
from perfmodel.fitting.nonlinear import bounds_of, fit_nonlinear
from perfmodel.fitting.weights_file import Mark, intervals


class RelativeEstimator(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Common part of the estimators: weights, their intervals and the score."""

    coef_: Array
    standard_errors_: Array
    degrees_of_freedom_: float
    n_features_in_: int

    def intervals(self, level: float = 0.9) -> Array:
        """Return the weights' intervals at a level, shape (n_weights, 2)."""
        check_is_fitted(self)
        return intervals(self.coef_, self.standard_errors_, self.degrees_of_freedom_, level)

    def score(self, X: npt.ArrayLike, y: npt.ArrayLike, sample_weight: Any = None) -> float:  # noqa: N803
        """Return 1 minus the mean squared relative error; 1 is a perfect fit."""
        errors = (1 - self.predict(X) / np.asarray(y, dtype=np.float64)) ** 2
        return float(1 - np.average(errors, weights=sample_weight))

    def _rows(self, X: npt.ArrayLike) -> Array:  # noqa: N803
        check_is_fitted(self)
        return np.asarray(validate_data(self, X, dtype=np.float64, reset=False))

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's description: counts and times are positive."""
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        tags.target_tags.positive_only = True
        return tags


class RelativeLeastSquares(RelativeEstimator):
    r"""Weights that minimise :math:`\sum_j v_j (1 - \sum_i w_i X_{ji} / y_j)^2`.

    Features that are proportional in all rows share a weight: each gets an equal part of their common time. Of other
    features that the rows cannot distinguish, the weights are those of least norm (in scaled columns). Rows whose
    ``sample_weight`` is zero are left out.

    Parameters
    ----------
    nonnegative
        Whether weights must not be negative.
    names
        Names of the columns for messages.

    Attributes
    ----------
    coef_, standard_errors_ : ndarray of shape (n_features,)
        The weights, 0 for a feature that is zero in every row; their standard errors from the residuals, infinite where
        the rows do not determine a weight.
    marks_ : tuple of tuple of str
        Warnings about each weight (:data:`perfmodel.fitting.weights_file.MEANING`).
    degrees_of_freedom_ : float
        Rows minus the fitted degrees of freedom.
    rank_, condition_ : int, float
        Of the matrix with rows divided by time and columns of about unit length.
    confounded_, merged_ : tuple of tuple of int
        Groups of features that the rows cannot distinguish, and those of them that share a weight.

    Notes
    -----
    Source: Stevens and Klöckner, *A Unified, Hardware-Fitted, Cross-GPU Performance Model*, section 4.3.

    Examples
    --------
    >>> X = np.array([[1.0, 10.0], [1.0, 1000.0], [1.0, 5000.0]])
    >>> y = X @ np.array([1e-5, 2e-9])
    >>> bool(np.allclose(RelativeLeastSquares().fit(X, y).coef_, [1e-5, 2e-9], rtol=1e-9))
    True
    """

    def __init__(self, *, nonnegative: bool = False, names: tuple[str, ...] | None = None) -> None:
        self.nonnegative = nonnegative
        self.names = names

    def fit(
        self, X: npt.ArrayLike, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None  # noqa: N803
    ) -> RelativeLeastSquares:
        """Find the weights from feature values X, shape (n_rows, n_features), and times y [s], shape (n_rows,).

        Raise a FitError for times that are not positive, negative feature values, or fewer rows than features.
        """
        fit = fit_linear(training_rows(self, X, y, sample_weight), self.nonnegative)
        count = self.n_features_in_
        self.coef_, self.standard_errors_ = np.zeros(count), np.full(count, np.inf)
        self.coef_[fit.columns], self.standard_errors_[fit.columns] = fit.coefficients, fit.errors
        marks: list[tuple[Mark, ...]] = [()] * count
        for column, column_marks in zip(fit.columns, fit.marks, strict=True):
            marks[column] = column_marks
        self.marks_, self.degrees_of_freedom_ = tuple(marks), fit.solution.freedom
        self.rank_, self.condition_ = fit.solution.rank, fit.solution.condition
        self.confounded_, self.merged_, self.converged_ = fit.confounded, fit.merged, True
        return self

    def predict(self, X: npt.ArrayLike) -> Array:  # noqa: N803
        """Return the times [s] of rows of feature values, shape (n_rows,)."""
        return np.asarray(self._rows(X) @ self.coef_)


class RelativeNonlinearLeastSquares(RelativeEstimator):
    r"""Weights of any model that minimise :math:`\sum_j v_j (1 - T(X_j; w) / y_j)^2` within bounds.

    A trust-region method (``scipy.optimize.least_squares``) with the model's Jacobian runs from several starting
    points, and the best result is kept.

    Parameters
    ----------
    expression
        The model, an :class:`~perfmodel.expressions.expression.Expression`; None for one weight a column.
    nonnegative
        Whether weights without bounds of their own must not be negative.
    start
        Known starting values by weight. The others start where all terms take about the same time
        (:mod:`perfmodel.fitting.nonlinear`).
    bounds
        Lower and upper bound by weight.
    starts, random_state
        Number of starting points, and the seed for them.
    names
        Names of the columns for messages.

    Attributes
    ----------
    coef_, standard_errors_, marks_, degrees_of_freedom_, rank_, condition_, confounded_
        As of :class:`~perfmodel.fitting.RelativeLeastSquares`, for the weights ``weights_`` and the Jacobian at the
        solution. The error of a weight at a bound is infinite.
    converged_ : bool
        Whether the best run converged.
    attempts_, n_iter_ : tuple of Attempt, int
        The run from each starting point, and the number of evaluations of all.
    """

    def __init__(
        self,
        *,
        expression: Expression | None = None,
        nonnegative: bool = True,
        start: Mapping[str, float] | None = None,
        bounds: Mapping[str, tuple[float, float]] | None = None,
        starts: int = 8,
        random_state: Any = 0,
        names: tuple[str, ...] | None = None,
    ) -> None:
        self.expression = expression
        self.nonnegative = nonnegative
        self.start = start
        self.bounds = bounds
        self.starts = starts
        self.random_state = random_state
        self.names = names

    def fit(
        self, X: npt.ArrayLike, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None  # noqa: N803
    ) -> RelativeNonlinearLeastSquares:
        """Find the weights from values of the expression's features X, in its order, and times y [s].

        Raise a FitError also where the model is finite at none of the starting points.
        """
        if self.starts < 1:
            raise OptionError(f"{self.starts} starting points were asked for", "give 1 or more")
        rows = training_rows(self, X, y, sample_weight)
        model = self.expression or linear([f"x{i}" for i in range(rows.matrix.shape[1])])
        if len(model.features) != rows.matrix.shape[1]:
            raise FitError(
                f"the matrix has {rows.matrix.shape[1]} columns, and the expression has {len(model.features)} "
                f"features: {listed(model.features)}", "give one column for each, in this order",
            )  # fmt: skip
        if not 0 < len(model.weights) <= len(rows.times):
            raise too_few_rows(len(rows.times), model.weights)
        seed = self.random_state
        if isinstance(seed, np.random.RandomState):  # default_rng does not take it
            seed = seed.randint(2**31)
        start = np.array([(self.start or {}).get(name, np.nan) for name in model.weights], dtype=np.float64)
        bounds = bounds_of(model.weights, self.bounds, self.nonnegative)
        fit = fit_nonlinear(model, rows, bounds, start, self.starts, seed)
        self.model_, self.weights_ = model, tuple(model.weights)
        self.coef_, self.standard_errors_, self.marks_ = fit.weights, fit.errors, fit.marks
        self.degrees_of_freedom_ = fit.solution.freedom
        self.rank_, self.condition_ = fit.solution.rank, fit.solution.condition
        self.confounded_, self.attempts_, self.converged_ = fit.confounded, fit.attempts, fit.converged
        self.n_iter_ = sum(attempt.evaluations for attempt in fit.attempts)
        return self

    def predict(self, X: npt.ArrayLike) -> Array:  # noqa: N803
        """Return the times [s] of rows of feature values, shape (n_rows,)."""
        rows = self._rows(X)
        columns = dict(zip(self.model_.features, rows.T, strict=True))
        return np.asarray(self.model_.value(columns, self.coef_), dtype=np.float64)
