"""The non-linear estimator in scikit-learn's conventions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from perfmodel.errors import StartsError, TooFewRowsError, WrongColumnsError
from perfmodel.fitting.linear.estimators import FeatureEstimator, positive_tags, relative_score
from perfmodel.fitting.linear.least_squares import Array, training_rows
from perfmodel.fitting.linear.robust import check_loss
from perfmodel.fitting.nonlinear.nonlinear import fit_nonlinear
from perfmodel.fitting.nonlinear.problem import LinearModel, TimeModel
from perfmodel.fitting.nonlinear.starts import bounds_of, starts_of


class RelativeNonlinearLeastSquares(FeatureEstimator):
    r"""Weights of any model that minimise the sum of squared relative errors.

    .. math:: \min_{l \le w \le u} \sum_j c^2 \rho\!\left(\frac{r_j^2}{c^2}\right), \qquad
        r_j = \sqrt{v_j} \left(1 - \frac{T(X_j; w)}{y_j}\right)

    by a trust-region method (``scipy.optimize.least_squares``) with the model's own Jacobian, in
    weights divided by where they start, from several starting points of which the best is kept.

    Parameters
    ----------
    expression
        The model: an :class:`~perfmodel.expressions.expression.Expression`, or anything with its
        ``features``, ``weights``, ``value`` and ``jacobian``. None for one weight a column.
    nonnegative
        Whether weights without bounds of their own must not fall below zero.
    start
        Starting values that are known, by weight. The others begin where all terms take about the
        same time (:mod:`perfmodel.fitting.nonlinear.starts`).
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
    coef_ : ndarray of shape (n_weights,)
        The weights, in the order of ``weights_``.
    weights_ : tuple of str
        Their names.
    standard_errors_ : ndarray of shape (n_weights,)
        From the Jacobian at the solution; infinite where the rows do not determine a weight or it
        is held at a bound.
    marks_, degrees_of_freedom_, rank_, condition_, confounded_
        As of :class:`~perfmodel.fitting.RelativeLeastSquares`, of the Jacobian at the solution.
    converged_ : bool
        Whether the best run came to rest.
    attempts_ : tuple of Attempt
        What came of each starting point.
    n_iter_ : int
        Evaluations of the model, all together.
    n_features_in_ : int
        Columns of ``X``.
    """

    def __init__(
        self,
        *,
        expression: TimeModel | None = None,
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
        model = self.expression or LinearModel(tuple(f"x{i}" for i in range(rows.matrix.shape[1])))
        if len(model.features) != rows.matrix.shape[1]:
            raise WrongColumnsError(rows.matrix.shape[1], tuple(model.features))
        if not 0 < len(model.weights) <= len(rows.times):
            raise TooFewRowsError(len(rows.times), tuple(model.weights))
        found = fit_nonlinear(
            model, rows, bounds_of(model.weights, self.bounds, self.nonnegative),
            starts_of(model.weights, self.start),
            starts=self.starts, loss=self.loss, seed=_seed(self.random_state),
        )  # fmt: skip
        self.model_, self.weights_ = model, tuple(model.weights)
        self.coef_, self.standard_errors_, self.marks_ = found.weights, found.errors, found.marks
        self.degrees_of_freedom_ = found.solution.freedom
        self.rank_, self.condition_ = found.solution.rank, found.solution.condition
        self.confounded_, self.attempts_ = found.confounded, found.attempts
        self.n_iter_, self.converged_ = found.evaluations, found.converged
        return self

    def predict(self, X: npt.ArrayLike) -> Array:  # noqa: N803
        """Return the times [s] of rows of feature values, shape (n_rows,)."""
        rows = self._rows(X)
        columns = dict(zip(self.model_.features, rows.T, strict=True))
        times: Array = np.asarray(self.model_.value(columns, self.coef_), dtype=np.float64)
        return times

    def score(self, X: npt.ArrayLike, y: npt.ArrayLike, sample_weight: Any = None) -> float:  # noqa: N803
        """Return 1 minus the mean squared relative error; 1 is a perfect fit."""
        return relative_score(self.predict(X), y, sample_weight)

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's description: counts and times are positive."""
        return positive_tags(super().__sklearn_tags__())


def _seed(random_state: Any) -> Any:
    """Return what NumPy's generators take: an integer as it is, one drawn from a RandomState."""
    if isinstance(random_state, np.random.RandomState):
        return random_state.randint(2**31)
    return random_state
