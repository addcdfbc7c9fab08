r"""Repeated non-negative least squares for an overhead and a smooth maximum of resources.

.. math:: T = \sum_{q \in o} w_q q + \Big(\sum_r R_r^s\Big)^{1/s}, \qquad
    R_r = \sum_{q \in r} w_q q, \qquad w \ge 0

Let :math:`M` be the smooth maximum of the last pass. Then :math:`\sum_r R_r (R_r/M)^{s-1} = M` is linear in the
weights, and each pass of the search is a non-negative least-squares problem. Rows are divided by :math:`\sqrt{t\,T}`
with T of the last pass. The residual :math:`(t - T)/\sqrt{t\,T} = 2 \sinh(\tfrac{1}{2} \log(t/T))` treats a time twice
as long and a time half as long alike. Huber's weights limit the influence of outliers (P. J. Huber, *Robust Estimation
of a Location Parameter*, 1964). Gauss-Newton steps in log time continue from the best pass. These steps are
non-negative least squares too. If all weights of a resource are zero, its derivative is zero, and the steps cannot
change these weights. The steps are therefore repeated from a point where each weight has at least a share of the
largest value that the times allow.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256

import numpy as np
from scipy.optimize import nnls

from perfmodel.fitting.least_squares import Fit, diagnosis
from perfmodel.fitting.types import Flags, Floats, Rows
from perfmodel.values import FrozenValue

PASSES = 20  # passes of the search, and most steps after it
HALVINGS = 6  # most halvings of a step that does not lower the loss
BEND = 0.2  # error of log time from which Huber's loss is linear
RESTING = 1e-9  # relative gain in the loss below which the steps end
RESTARTS = (0.5, 0.1)  # at a restart each weight is at least this share of the largest value that the times allow
BETTER = 1e-6  # relative gain in the loss above which the weights of a restart are taken
LEAST = 1e-12  # smallest ratio of predicted to measured time
MOST_KEPT = 1024  # cached fits: choosing facts and calibrating intervals leave out the same groups


@dataclass(frozen=True, eq=False)
class ResourceModel:
    """The column numbers of each resource, and the sharpness of the maximum. Other columns are overheads.

    ``given`` has the weights [s per unit] that are known, by the numbers of their columns.
    """

    resources: Mapping[str, tuple[int, ...]]
    sharpness: float
    given: Mapping[int, float] = field(default_factory=dict)

    def times(self, matrix: Floats, weights: Floats) -> tuple[Floats, Floats]:
        """Return the times, shape (n_rows,), and their derivatives by ``weights*matrix``, in the matrix's shape."""
        return _Columns(self, matrix).times(weights)


@dataclass(frozen=True, eq=False)
class _Columns(FrozenValue):
    model: ResourceModel
    matrix: Floats

    @cached_property
    def _parts(self) -> list[tuple[list[int], Floats]]:
        resources = [list(columns) for columns in self.model.resources.values()]
        overheads = sorted({*range(self.matrix.shape[1])}.difference(*resources))
        return [(columns, self.matrix[:, columns]) for columns in (*resources, overheads)]

    @cached_property
    def _resource_of(self) -> Rows:
        numbers = np.empty(self.matrix.shape[1], dtype=np.int64)
        for number, (columns, _) in enumerate(self._parts):
            numbers[columns] = number
        return numbers

    def times(self, weights: Floats) -> tuple[Floats, Floats]:
        times, parts, maximum = self.combined(weights)
        slopes = np.ones((len(parts) + 1, len(times)))
        share = parts / np.where(maximum > 0, maximum, 1.0)
        slopes[:-1] = np.where(maximum > 0, share ** (self.model.sharpness - 1), 1.0)
        return times, np.take(slopes.T, self._resource_of, axis=1)

    def combined(self, weights: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the times, the times of each resource, and the smooth maximum of the resources' times."""
        *parts, overhead = [columns @ weights[numbers] for numbers, columns in self._parts]
        if not parts:
            return overhead, np.zeros((0, len(overhead))), np.zeros(len(overhead))
        stacked, sharpness = np.array(parts), self.model.sharpness
        top = stacked.max(axis=0)
        scaled = stacked / np.where(top > 0, top, 1.0)
        maximum = top * (scaled**sharpness).sum(axis=0) ** (1 / sharpness)
        return np.asarray(overhead + maximum), stacked, maximum


@dataclass(frozen=True, eq=False, kw_only=True)
class ResourceFit(Fit):
    """Weights of all columns. A column of zeros has the weight zero."""

    model: ResourceModel

    def predict(self, matrix: Floats) -> Floats:
        """Return the times [s] of rows of quantities, shape (n_rows,)."""
        return _Columns(self.model, matrix).combined(self.weights)[0]

    def by_weight(self, matrix: Floats) -> Floats:
        r"""Return the seconds due to each weight, :math:`w \, \partial T / \partial w`, in the shape of the matrix."""
        return matrix * self.model.times(matrix, self.weights)[1] * self.weights


_kept: dict[bytes, ResourceFit] = {}


def fit_resources(model: ResourceModel, matrix: Floats, times: Floats, row_weights: Floats) -> ResourceFit:
    """Fit the weights of the columns of a model, shape (n_rows, n), to measured times [s]. Fits are cached."""
    form = repr((matrix.shape, [*model.resources.items()], model.sharpness, [*model.given.items()])).encode()
    key = sha256(b"".join([form, *(part.tobytes() for part in (matrix, times, row_weights))])).digest()
    fit = _kept.get(key)
    if fit is None:
        if len(_kept) >= MOST_KEPT:
            _kept.clear()
        fit = _kept[key] = _fit(model, matrix, times, row_weights)
    return fit


def _fit(model: ResourceModel, matrix: Floats, times: Floats, row_weights: Floats) -> ResourceFit:
    scale = matrix.max(axis=0, initial=0.0)
    used = scale > 0
    scale = np.where(used, scale, 1.0)
    given = np.full(len(scale), np.nan)
    for column, weight in model.given.items():
        given[column] = weight * scale[column]
    problem = _Problem(model, matrix / scale, times, row_weights / row_weights.mean(), given)
    weights, loss, resting = problem.polished(*problem.searched())
    for share in RESTARTS:
        start = np.where(problem.free, np.maximum(weights, share * problem.largest), weights)
        other = problem.polished(start, problem.loss(start))
        if other[1] < loss * (1 - BETTER):
            weights, loss, resting = other
    predicted, slopes = problem.expected(weights)
    residuals = np.log(times / predicted)
    root = np.sqrt(problem.share * _huber(residuals))
    slopes = problem.matrix * slopes / predicted[:, None] * root[:, None]  # of log time
    used = used & problem.free
    determined = diagnosis(weights, slopes, residuals * root, used, used & (weights <= 0))
    determined.update(standard_errors=determined["standard_errors"] / scale, confounded=())
    return ResourceFit(model=model, weights=weights / scale, converged=resting, **determined)


@dataclass(frozen=True, eq=False)
class _Problem(FrozenValue):
    model: ResourceModel
    matrix: Floats
    times: Floats
    share: Floats
    given: Floats  # the known weights of columns; NaN for the others

    @cached_property
    def free(self) -> Flags:
        return np.isnan(self.given)

    @cached_property
    def _columns(self) -> _Columns:
        return _Columns(self.model, self.matrix)

    @property
    def largest(self) -> Floats:
        """The largest weight of each column whose time is at most each measured time. A column of zeros has 0."""
        rows = np.divide(self.times[:, None], self.matrix, out=np.full_like(self.matrix, np.inf), where=self.matrix > 0)
        least: Floats = rows.min(axis=0)
        return np.where(np.isfinite(least), least, 0.0)

    def expected(self, weights: Floats) -> tuple[Floats, Floats]:
        """Return the times, all positive, and their derivatives, as in :meth:`ResourceModel.times`."""
        predicted, slopes = self._columns.times(weights)
        return np.maximum(predicted, LEAST * self.times), slopes

    def loss(self, weights: Floats) -> float:
        size = np.abs(np.log(self.times / np.maximum(self._columns.combined(weights)[0], LEAST * self.times)))
        return float(self.share @ np.where(size < BEND, size**2 / 2, BEND * (size - BEND / 2)))

    def searched(self) -> tuple[Floats, float]:
        """Return the best weights of all passes and their loss. In the first pass the times of all resources add up."""
        expected, slopes, huber = self.times.copy(), np.ones_like(self.matrix), np.ones_like(self.times)
        best, least = np.zeros(self.matrix.shape[1]), np.inf
        for index in range(PASSES):
            divisors = np.sqrt(self.share * huber / (self.times * expected))
            solution = self._solved(self.matrix * slopes * divisors[:, None], self.times * divisors)
            predicted, new_slopes = self.expected(solution)
            loss = self.loss(solution)
            if loss < least:
                best, least = solution, loss
            expected = np.sqrt(expected * predicted)  # half a step in log time: whole steps oscillate
            slopes = np.sqrt(slopes * new_slopes) if index else new_slopes
            huber = _huber(np.log(self.times / predicted))
        return best, least

    def polished(self, weights: Floats, loss: float) -> tuple[Floats, float, bool]:
        """Return the weights after Gauss-Newton steps in log time, their loss, and whether the steps converged."""
        for _ in range(PASSES):
            predicted, slopes = self.expected(weights)
            errors = np.log(self.times / predicted)
            root = np.sqrt(self.share * _huber(errors))
            # T is the sum of the weights times its derivatives by them, so the solution is the new weights.
            step = self._solved(self.matrix * slopes * (root / predicted)[:, None], (errors + 1) * root)
            for _ in range(HALVINGS):
                new = self.loss(step)
                if new < loss:
                    break
                step = (step + weights) / 2
            else:
                return weights, loss, True
            gain = loss - new
            weights, loss = step, new
            if gain <= RESTING * loss:
                return weights, loss, True
        return weights, loss, False

    def _solved(self, matrix: Floats, target: Floats) -> Floats:
        weights = np.where(self.free, 0.0, self.given)
        target, columns = target - matrix @ weights, matrix[:, self.free]
        lengths = np.linalg.norm(columns, axis=0)
        lengths[lengths == 0] = 1.0
        weights[self.free] = nnls(columns / lengths, target, maxiter=100 * len(lengths))[0] / lengths
        return weights


def _huber(errors: Floats) -> Floats:
    return np.minimum(1.0, BEND / np.maximum(np.abs(errors), 1e-300))
