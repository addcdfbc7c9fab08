r"""Repeated non-negative least squares for an overhead and a smooth maximum of resources.

.. math:: T = \sum_{q \in o} w_q q + \Big(\sum_r R_r^s\Big)^{1/s}, \qquad R_r = \sum_{q \in r} w_q q, \qquad w \ge 0

With :math:`M` the smooth maximum of the last pass, :math:`\sum_r R_r (R_r/M)^{s-1} = M` is linear in the weights, so
each pass is a non-negative least-squares problem. Rows are divided by :math:`\sqrt{t\,T}`, T of the last pass: the
residual :math:`(t - T)/\sqrt{t\,T} = 2 \sinh(\tfrac{1}{2} \log(t/T))` counts a time twice as long and one half as long
alike. Huber's weights keep odd rows from deciding. Of all passes the one with the smallest loss is kept.

The passes are those of iteratively reweighted least squares; Huber's loss: P. J. Huber, *Robust Estimation of a
Location Parameter*, 1964.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from perfmodel.fitting.linear import diagnosis
from perfmodel.fitting.linear.least_squares import Array, solve_least_squares

PASSES = 30
"""Most passes."""
BEND = 0.5
"""Where Huber's loss bends [log time]."""
RESTING = 1e-7
"""Relative gain in the loss below which the passes end."""
LEAST = 1e-12
"""Least predicted time, over the measured one, with which a pass goes on."""


@dataclass(frozen=True, eq=False)
class ResourceModel:
    """The form of a family: which columns add up to each resource, and the sharpness of the maximum.

    Columns of no resource are overheads. ``resources`` has the places of the columns of each.
    """

    resources: Mapping[str, tuple[int, ...]]
    sharpness: float

    def times(self, matrix: Array, weights: Array) -> tuple[Array, Array]:
        """Return the times, shape (n_rows,), and their derivatives by ``weights*matrix``, of the matrix's shape."""
        slopes = np.ones_like(matrix)
        parts = {name: matrix[:, list(own)] @ weights[list(own)] for name, own in self.resources.items()}
        if not parts:
            return matrix @ weights, slopes
        stacked = np.array(list(parts.values()))
        top = stacked.max(axis=0)
        scaled = stacked / np.where(top > 0, top, 1.0)
        maximum = top * (scaled**self.sharpness).sum(axis=0) ** (1 / self.sharpness)
        for name, own in self.resources.items():
            share = parts[name] / np.where(maximum > 0, maximum, 1.0)
            slopes[:, list(own)] = np.where(maximum > 0, share ** (self.sharpness - 1), 1.0)[:, None]
        inside = [place for own in self.resources.values() for place in own]
        overheads = np.setdiff1d(np.arange(matrix.shape[1]), inside)
        times: Array = matrix[:, overheads] @ weights[overheads] + maximum
        return times, slopes


@dataclass(frozen=True, eq=False)
class ResourceFit:
    """Weights of all columns, shape (n,), with their errors and marks; see :mod:`perfmodel.fitting.linear.diagnosis`.

    A weight whose column is zero in all rows is zero and undetermined.
    """

    model: ResourceModel
    coef_: Array
    standard_errors_: Array
    marks_: tuple[tuple[diagnosis.Mark, ...], ...]
    rank_: int
    condition_: float
    degrees_of_freedom_: float
    converged_: bool
    loss_: float

    def predict(self, X: Array) -> Array:  # noqa: N803
        """Return the times [s] of rows of quantities, shape (n_rows,)."""
        return self.model.times(X, self.coef_)[0]


def fit_resources(model: ResourceModel, matrix: Array, times: Array, row_weights: Array) -> ResourceFit:
    """Fit the weights of a model's columns to measured times [s].

    Parameters
    ----------
    model
        Its form.
    matrix
        Quantities, shape (n_rows, n), none negative.
    times, row_weights
        Measured times and how much each row counts, shape (n_rows,).
    """
    scale = matrix.max(axis=0, initial=0.0)
    used = scale > 0
    scaled = matrix / np.where(used, scale, 1.0)
    share = row_weights / row_weights.mean()
    expected, slopes, huber = times.copy(), np.ones_like(scaled), np.ones_like(times)
    best, least, resting = np.zeros(matrix.shape[1]), np.inf, False
    for index in range(PASSES):
        divisors = np.sqrt(share * huber / (times * expected))
        system = scaled * slopes * divisors[:, None]
        lengths = np.linalg.norm(system, axis=0)
        lengths[lengths == 0] = 1.0
        solution = nnls(system / lengths, times * divisors, maxiter=100 * matrix.shape[1])[0] / lengths
        found, new_slopes = model.times(scaled, solution)
        found = np.maximum(found, LEAST * times)
        errors = np.log(times / found)
        loss = float(share @ _huber(errors))
        resting = abs(least - loss) < RESTING * max(least, 1e-300) if np.isfinite(least) else False
        if loss < least:
            best, least = solution, loss
        if resting:
            break
        expected = np.sqrt(expected * found)  # half a step in log time: whole ones swing
        slopes = np.sqrt(slopes * new_slopes) if index else new_slopes
        huber = np.minimum(1.0, BEND / np.maximum(np.abs(errors), 1e-300))
    return _diagnosed(model, scaled, times, share, best, np.where(used, scale, 1.0), used, resting, least)


def _huber(errors: Array) -> Array:
    size = np.abs(errors)
    return np.where(size < BEND, size**2 / 2, BEND * (size - BEND / 2))


def _diagnosed(
    model: ResourceModel, scaled: Array, times: Array, share: Array, best: Array, scale: Array, used: Array,
    resting: bool, loss: float,
) -> ResourceFit:
    """Return the fit with what is known of its weights: from the derivatives of log time at the solution."""
    found, slopes = model.times(scaled, best)
    found = np.maximum(found, LEAST * times)
    residuals = np.log(times / found)
    root = np.sqrt(share * np.minimum(1.0, BEND / np.maximum(np.abs(residuals), 1e-300)))
    free = used & (best > 0)
    rows = scaled[:, free] * slopes[:, free] / found[:, None] * root[:, None]
    inverse, errors = np.zeros((best.size, times.size)), np.full(best.size, np.inf)
    rank, condition, freedom = 0, 1.0, float(times.size)
    undetermined = ~used
    if free.any():
        solved = solve_least_squares(rows, residuals * root)
        inverse[free] = solved.inverse
        rank, condition, freedom = solved.rank, solved.condition, solved.freedom
        errors = diagnosis.standard_errors(inverse, residuals, root**2, freedom) / scale
        places = np.flatnonzero(free)
        for group in solved.confounded:
            undetermined[places[list(group)]] = True
    errors[undetermined | ~free] = np.inf
    held, none = used & ~free, np.zeros(best.size, dtype=np.bool_)
    weights = best / scale
    marks = diagnosis.marks(weights, errors, inverse, held, none, undetermined)
    return ResourceFit(model, weights, errors, marks, rank, condition, freedom, resting, loss)
