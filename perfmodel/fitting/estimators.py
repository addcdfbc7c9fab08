"""Estimators in scikit-learn's conventions: linear least squares, plain and of relative errors, and non-linear ones.

Rows are measured cases, columns are features. The matrix is called ``X``, as in scikit-learn (hence the noqa: N803).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import sklearn.exceptions
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import validate_data

from perfmodel.errors import BadRidgeError, NotFittedError, StartsError, TooFewRowsError, WrongColumnsError
from perfmodel.expressions import Expression, linear
from perfmodel.fitting.least_squares import Array, training_rows
from perfmodel.fitting.linear import LinearFit, check_loss, fit_linear
from perfmodel.fitting.nonlinear import bounds_of, fit_nonlinear, starts_of
from perfmodel.fitting.weights_file import Mark, intervals


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
        return np.asarray(self._rows(X) @ self.coef_)

    def _rows(self, X: npt.ArrayLike) -> Array:  # noqa: N803
        self._check_fitted()
        return np.asarray(validate_data(self, X, dtype=np.float64, reset=False))

    def _check_fitted(self) -> None:
        if not hasattr(self, "coef_"):
            raise UnfittedError(type(self).__name__)

    def _keep(self, fit: LinearFit) -> None:
        columns, count = fit.columns, self.n_features_in_
        self.coef_ = np.zeros(count)
        self.coef_[columns] = fit.coefficients
        self.standard_errors_ = np.full(count, np.inf)
        self.standard_errors_[columns] = fit.errors
        marks: list[tuple[Mark, ...]] = [()] * count
        for column, column_marks in zip(columns, fit.marks, strict=True):
            marks[column] = column_marks
        self.marks_ = tuple(marks)
        self.measured_ = np.isin(np.arange(count), columns)
        self.degrees_of_freedom_ = fit.solution.freedom
        self.rank_, self.condition_ = fit.solution.rank, fit.solution.condition
        self.confounded_, self.merged_ = fit.confounded, fit.merged
        self.n_iter_, self.converged_ = fit.iterations, fit.converged


class RelativeEstimator(FeatureEstimator):
    """What the estimators of relative errors share: positive rows and times, and their score."""

    def score(self, X: npt.ArrayLike, y: npt.ArrayLike, sample_weight: Any = None) -> float:  # noqa: N803
        """Return 1 minus the mean squared relative error; 1 is a perfect fit."""
        errors = (1 - self.predict(X) / np.asarray(y, dtype=np.float64)) ** 2
        return float(1 - np.average(errors, weights=sample_weight))

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's description: counts and times are positive."""
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        tags.target_tags.positive_only = True
        return tags


class OrdinaryLeastSquares(FeatureEstimator):
    r"""Weights that minimise the sum of squared errors.

    .. math:: \min_w \sum_j v_j \Big(y_j - \sum_i w_i X_{ji}\Big)^2

    The core that :class:`RelativeLeastSquares` applies to rows divided by their times, for any
    data: columns scaled to about unit length, QR with column pivoting, iterative refinement. There
    is no intercept; give a column of ones. For the attributes see there.

    Parameters
    ----------
    merge
        Whether proportional columns share a weight instead of being refused.
    names
        What the columns are called in messages.

    Examples
    --------
    >>> X = np.array([[1.0, 1.0], [1.0, 2.0], [1.0, 4.0]])
    >>> OrdinaryLeastSquares().fit(X, [3.0, 5.0, 9.0]).coef_.tolist()
    [1.0, 2.0]
    """

    def __init__(self, *, merge: bool = False, names: tuple[str, ...] | None = None) -> None:
        self.merge = merge
        self.names = names

    def fit(
        self, X: npt.ArrayLike, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None  # noqa: N803
    ) -> OrdinaryLeastSquares:
        """Find the weights from rows X, shape (n_rows, n_features), and responses y, shape (n_rows,)."""
        rows = training_rows(self, X, y, sample_weight, positive=False)
        self._keep(fit_linear(rows, np.ones(len(rows.times)), merge=self.merge))
        return self


class RelativeLeastSquares(RelativeEstimator):
    r"""Weights that minimise the sum of squared relative errors.

    .. math:: \min_w \sum_j v_j \, c^2 \rho\!\left(\frac{r_j^2}{c^2}\right)
        + \rho_r \sum_i (w_i \|X_i / y\|)^2, \qquad r_j = 1 - \frac{\sum_i w_i X_{ji}}{y_j}

    Parameters
    ----------
    nonnegative
        Whether weights below zero are ruled out.
    ridge
        :math:`\rho_r`, a pure number: how strongly weights are drawn to zero. It is added to
        the diagonal of the normal equations of columns of unit length.
    loss
        :math:`\rho`: ``linear`` (least squares), ``huber``, ``soft_l1`` or ``cauchy``, found by
        iteratively reweighted least squares. They bend at c, a multiple of the residuals' spread
        (:data:`perfmodel.fitting.linear.TUNING`).
    merge
        Whether features that the rows cannot tell apart share a weight instead of being refused. Proportional columns
        get equal times, in these rows, out of what they cost together; of weights of columns that depend on each other
        otherwise the ones of least norm (in the scaled columns) are taken.
    names
        What the columns are called in messages.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        The weights; 0 for a feature that is zero in every row.
    standard_errors_ : ndarray of shape (n_features,)
        Of the weights, from the residuals' spread; infinite where the rows do not determine one.
    marks_ : tuple of tuple of str
        What is to be said of each weight (:data:`perfmodel.fitting.weights_file.MEANING`).
    degrees_of_freedom_ : float
        Rows less what the fit used up.
    measured_ : ndarray of bool, shape (n_features,)
        Whether the feature is other than zero in some row.
    rank_, condition_ : int, float
        Of the matrix with rows divided by time and columns of about unit length.
    confounded_, merged_ : tuple of tuple of int
        Groups of features that the rows cannot tell apart, and those of them that were merged.
    n_iter_, converged_ : int, bool
        Steps of reweighting, and whether it came to rest.
    n_features_in_ : int
        Columns of ``X``.

    Notes
    -----
    Source: Stevens and Klöckner, *A Unified, Hardware-Fitted, Cross-GPU Performance Model*,
    section 4.3, for the plain form.

    Rows whose ``sample_weight`` is zero are left out.

    Examples
    --------
    >>> X = np.array([[1.0, 10.0], [1.0, 1000.0], [1.0, 5000.0]])
    >>> y = X @ np.array([1e-5, 2e-9])
    >>> bool(np.allclose(RelativeLeastSquares().fit(X, y).coef_, [1e-5, 2e-9], rtol=1e-9))
    True
    """

    def __init__(
        self,
        *,
        nonnegative: bool = False,
        ridge: float = 0.0,
        loss: str = "linear",
        merge: bool = False,
        names: tuple[str, ...] | None = None,
    ) -> None:
        self.nonnegative = nonnegative
        self.ridge = ridge
        self.loss = loss
        self.merge = merge
        self.names = names

    def fit(
        self, X: npt.ArrayLike, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None  # noqa: N803
    ) -> RelativeLeastSquares:
        """Find the weights.

        Parameters
        ----------
        X
            Feature values, shape (n_rows, n_features).
        y
            Measured times [s], shape (n_rows,).
        sample_weight
            How much each row counts, :math:`v`, shape (n_rows,); see
            :func:`perfmodel.fitting.noise_weights`.

        Raises
        ------
        BadTimesError, BadFeatureValuesError
            If a time is not positive and finite, or a feature value not finite or negative.
        TooFewRowsError
            If there are fewer rows than features exercised, or none is.
        ConfoundedFeaturesError
            If the rows cannot tell features apart, unless they may be merged.
        UnknownLossError, BadRidgeError
            If an option is not one that exists.
        """
        check_loss(self.loss)
        if not (np.isfinite(self.ridge) and self.ridge >= 0):
            raise BadRidgeError(self.ridge)
        rows = training_rows(self, X, y, sample_weight, positive=True)
        self._keep(fit_linear(
            rows, rows.times, nonnegative=self.nonnegative, ridge=self.ridge, loss=self.loss, merge=self.merge
        ))  # fmt: skip
        return self


class RelativeNonlinearLeastSquares(RelativeEstimator):
    r"""Weights of any model that minimise the sum of squared relative errors.

    .. math:: \min_{l \le w \le u} \sum_j c^2 \rho\!\left(\frac{r_j^2}{c^2}\right), \qquad
        r_j = \sqrt{v_j} \left(1 - \frac{T(X_j; w)}{y_j}\right)

    by a trust-region method (``scipy.optimize.least_squares``) with the model's own Jacobian, in
    weights divided by where they start, from several starting points of which the best is kept.

    Parameters
    ----------
    expression
        The model, an :class:`~perfmodel.expressions.expression.Expression`; None for one weight a column.
    nonnegative
        Whether weights without bounds of their own must not fall below zero.
    start
        Starting values that are known, by weight. The others begin where all terms take about the
        same time (:mod:`perfmodel.fitting.nonlinear`).
    bounds
        Lower and upper bound by weight.
    starts
        How many starting points.
    loss
        :math:`\rho`: ``linear``, ``huber``, ``soft_l1`` or ``cauchy``; not the first bend at c, a
        multiple of the spread of the residuals of least squares.
    random_state
        Seed of the starting points.
    names
        What the columns are called in messages.

    Attributes
    ----------
    coef_, weights_ : ndarray of shape (n_weights,), tuple of str
        The weights, and their names.
    standard_errors_ : ndarray of shape (n_weights,)
        From the Jacobian at the solution; infinite where the rows do not determine a weight or it is held at a bound.
    marks_, degrees_of_freedom_, rank_, condition_, confounded_, n_features_in_
        As of :class:`~perfmodel.fitting.RelativeLeastSquares`, of the Jacobian at the solution.
    converged_ : bool
        Whether the best run came to rest.
    attempts_, n_iter_ : tuple of Attempt, int
        What came of each starting point, and evaluations of the model, all together.
    """

    def __init__(
        self,
        *,
        expression: Expression | None = None,
        nonnegative: bool = True,
        start: Mapping[str, float] | None = None,
        bounds: Mapping[str, tuple[float, float]] | None = None,
        starts: int = 8,
        loss: str = "linear",
        random_state: Any = 0,
        names: tuple[str, ...] | None = None,
    ) -> None:
        self.expression = expression
        self.nonnegative = nonnegative
        self.start = start
        self.bounds = bounds
        self.starts = starts
        self.loss = loss
        self.random_state = random_state
        self.names = names

    def fit(
        self, X: npt.ArrayLike, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None  # noqa: N803
    ) -> RelativeNonlinearLeastSquares:
        """Find the weights.

        Parameters
        ----------
        X
            Values of the expression's features, in its order, shape (n_rows, n_features).
        y
            Measured times [s], shape (n_rows,).
        sample_weight
            How much each row counts, :math:`v`, shape (n_rows,).

        Raises
        ------
        BadTimesError, BadFeatureValuesError
            If a time is not positive and finite, or a feature value not finite or negative.
        TooFewRowsError
            If there are fewer rows than weights.
        NoStartError
            If the model is finite at none of the starting points.
        UnknownLossError, StartsError, WrongColumnsError
            If an option is not one that exists, or the columns are not the expression's.
        """
        check_loss(self.loss)
        if self.starts < 1:
            raise StartsError(self.starts)
        rows = training_rows(self, X, y, sample_weight, positive=True)
        model = self.expression or linear([f"x{i}" for i in range(rows.matrix.shape[1])])
        if len(model.features) != rows.matrix.shape[1]:
            raise WrongColumnsError(rows.matrix.shape[1], tuple(model.features))
        if not 0 < len(model.weights) <= len(rows.times):
            raise TooFewRowsError(len(rows.times), tuple(model.weights))
        seed = self.random_state
        if isinstance(seed, np.random.RandomState):  # of which NumPy's generators take an integer
            seed = seed.randint(2**31)
        start, box = starts_of(model.weights, self.start), bounds_of(model.weights, self.bounds, self.nonnegative)
        fit = fit_nonlinear(model, rows, box, start, starts=self.starts, loss=self.loss, seed=seed)
        self.model_, self.weights_ = model, tuple(model.weights)
        self.coef_, self.standard_errors_, self.marks_ = fit.weights, fit.errors, fit.marks
        self.degrees_of_freedom_ = fit.solution.freedom
        self.rank_, self.condition_ = fit.solution.rank, fit.solution.condition
        self.confounded_, self.attempts_ = fit.confounded, fit.attempts
        self.n_iter_, self.converged_ = fit.evaluations, fit.converged
        return self

    def predict(self, X: npt.ArrayLike) -> Array:  # noqa: N803
        """Return the times [s] of rows of feature values, shape (n_rows,)."""
        rows = self._rows(X)
        columns = dict(zip(self.model_.features, rows.T, strict=True))
        return np.asarray(self.model_.value(columns, self.coef_), dtype=np.float64)
