"""Losses that grow slower than the square, so that a few odd rows do not decide a fit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from perfmodel.errors import UnknownLossError
from perfmodel.fitting.linear.least_squares import Array

STEPS = 200
"""Most steps of reweighting."""

NORMAL = 1.4826
"""Standard deviation of a normal distribution over the median of its absolute values."""

TUNING: Mapping[str, float] = MappingProxyType(
    {"linear": np.inf, "huber": 1.345, "soft_l1": 1.345, "cauchy": 2.385}
)
"""Where a loss begins to bend, in standard deviations: 95 % as efficient as least squares on
normal errors (Holland and Welsch, *Robust regression using iteratively reweighted least-squares*,
1977); ``soft_l1`` bends where ``huber`` does."""


def check_loss(loss: str) -> None:
    """Raise an error if there is no such loss."""
    if loss not in TUNING:
        raise UnknownLossError(loss, tuple(TUNING))


def spread(residuals: Array) -> float:
    """Return the standard deviation of residuals as seen from the median of their sizes."""
    return float(NORMAL * np.median(np.abs(residuals)))


def row_weights(loss: str, residuals: Array, bend: float) -> Array:
    r"""Return for each row the weight :math:`\rho'(z)` at :math:`z = (r / c)^2`, with c = `bend`.

    Examples
    --------
    >>> row_weights("huber", np.array([0.5, -4.0]), 2.0).tolist()
    [1.0, 0.5]
    """
    z = (residuals / bend) ** 2
    weights: Array = np.ones_like(z)
    if loss == "huber":
        weights = 1 / np.sqrt(np.maximum(z, 1))
    elif loss == "soft_l1":
        weights = 1 / np.sqrt(1 + z)
    elif loss == "cauchy":
        weights = 1 / (1 + z)
    return weights


def reweighted(
    solve: Callable[[Array], Array], residuals_of: Callable[[Array], Array], rows: int, loss: str
) -> tuple[Array, int, bool]:
    """Solve least squares again and again with weights from the last residuals, until they stand.

    Parameters
    ----------
    solve
        From a weight for each row to the weighted least-squares solution.
    residuals_of
        From a solution to the residuals of all rows, without weights.
    rows, loss
        How many rows, and which loss.

    Returns
    -------
    tuple
        Last weights, steps taken, and whether the weights stood still in the end.
    """
    weights = np.ones(rows)
    if loss == "linear":
        return weights, 1, True
    for step in range(1, STEPS + 1):
        residuals = residuals_of(solve(weights))
        scale = spread(residuals)
        if scale < 1e-12:  # more than half of the rows are met exactly
            return weights, step, True
        last, weights = weights, row_weights(loss, residuals, TUNING[loss] * scale)
        if np.max(np.abs(weights - last)) < 1e-9:
            return weights, step, True
    return weights, STEPS, False
