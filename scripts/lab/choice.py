r"""The choice of the next measurement: the row with the highest information on the other rows per second.

A row of a relative fit is :math:`z_i = x_i / t_i`, the features divided by the time. The fitted equation
is :math:`1 = z_i^T w + d_i + e_i`. The model errors :math:`d` are correlated within a
kernel class, more strongly within a variant, and less between rows of very different times:

.. math:: B_{ij} = \left(c^2 [\text{class}] + v^2 [\text{variant}] + a^2\right)
    \exp\left(-\tfrac12 \log_{10}^2(t_i/t_j) / \ell^2\right),

and :math:`e` is noise of variance :math:`s^2`. The prior is :math:`w \sim N(0, P)`; P lets each feature
take the whole time of the row in which its share is largest. The covariance of all rows is then
:math:`K = Z P Z^T + B + s^2 I`. For measured rows S and other rows R, twice their mutual information is

.. math:: \log\det K_{SS} + \log\det K_{RR} - \log\det K.

Measuring row i of R increases it by

.. math:: \log\frac{K_{ii|S}}{K_{ii|R \setminus i}},

where :math:`|S` is the covariance that remains when S is known. The row with the largest increase for each
second of its cost is chosen. The numerator alone prefers extreme rows, at which a model is wrong, and
leaves ordinary kernels out. The denominator is small for a row that resembles many others.

Sources: A. Krause, A. Singh, C. Guestrin, *Near-Optimal Sensor Placements in Gaussian Processes*, Journal of Machine
Learning Research 9 (2008), section 4; sequential D-optimal design, V. V. Fedorov, *Theory of Optimal Experiments*,
1972, chapter 2; a model's own error as a random function, M. C. Kennedy and A. O'Hagan, *Bayesian Calibration of
Computer Models*, Journal of the Royal Statistical Society B 63 (2001), section 4.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.linalg import solve_triangular
from scipy.optimize import nnls

from perfmodel import features
from perfmodel.models import Family

Floats: TypeAlias = npt.NDArray[np.float64]

#: Each batch makes the measured set at most this many times as large before times are predicted anew.
GROWTH = 1.5
#: Time that a configuration takes in addition to its runs [s], and its number of runs, as in campaigns.
SETUP_S, RUNS = 0.03, 30

BY_CLASS, BY_VARIANT, BY_ALL = 0.45, 0.3, 0.25
"""Deviations c, v and a of a model's relative errors that the rows of a class, of a variant and all rows share [1]:
of ``stevens_kloeckner_2016`` on the device where its errors are largest (``docs/lab/choosing.md``)."""
NOISE = 0.2
"""Deviation s of each single row; the uncertainty of its trial's time is part of it [1]."""
DECADES = 1.0
"""Scale l of the change of errors with the time [powers of ten]."""


@dataclass(frozen=True, eq=False)
class Candidates:
    """Configurations that could be measured."""

    matrix: Floats  # feature values, shape (n_rows, n_features)
    # kernels, variants: names of each row's class and variant, length n_rows.
    kernels: Sequence[str]
    variants: Sequence[str]
    # Function from times of rows [s] to the times that measuring them takes [s], of the same shape.
    cost: Callable[[Floats], Floats] = np.array
    # Times of trials of the rows [s], shape (n_rows,). None without trials: times are then predicted by fits to the
    # rows measured so far.
    expected: Floats | None = None


def choose(candidates: Candidates, measure: Callable[[int], float], wanted: int) -> tuple[int, ...]:
    """Choose and measure configurations in batches; return their positions in the order of measuring.

    `measure` returns the time of the configuration at a position [s], infinity if it fails. At least as many
    configurations as there are features are measured, since a fit needs them.
    """
    times, measured = np.full(len(candidates.matrix), np.nan), []
    while batch := choose_next(candidates, times, wanted):
        for row in batch:
            times[row] = measure(row)
            measured.append(row)
    return tuple(measured)


def choose_next(candidates: Candidates, times: Floats, wanted: int) -> tuple[int, ...]:
    """Return the positions of the rows to measure next, best first; none if enough rows are measured.

    The first batch has one row for each feature. Each further batch is half as large as the number of
    measured rows, but not larger than the number of rows that are missing.

    The measured `times` [s] have the shape (n_rows,): NaN for a row that is not measured yet, infinity for one that
    failed. At least as many rows as there are features are `wanted` in all.
    """
    matrix, done = candidates.matrix, np.isfinite(times)
    open_rows = np.isnan(times)
    seconds = _expected(candidates, times)
    unseen = ~(matrix[done] != 0).any(axis=0)
    owed = _covering(np.where(open_rows[:, np.newaxis], matrix, 0.0)[:, unseen], seconds, candidates.cost(seconds))
    missing = max(wanted, matrix.shape[1]) - int(done.sum())
    if owed or missing <= 0 or not open_rows.any():
        return owed
    size = max(1, int((GROWTH - 1) * done.sum()))
    return _most_informative(candidates, seconds, done, open_rows, min(size, missing, int(open_rows.sum())))


def _most_informative(
    candidates: Candidates, seconds: Floats, done: npt.NDArray[np.bool_], open_rows: npt.NDArray[np.bool_], size: int
) -> tuple[int, ...]:
    covariance, cost = _covariance(candidates, seconds), candidates.cost(seconds)
    known, rest = np.flatnonzero(done), np.flatnonzero(open_rows)
    within = covariance[np.ix_(rest, rest)]
    factor = np.linalg.cholesky(covariance[np.ix_(known, known)])
    explained = solve_triangular(factor, covariance[np.ix_(known, rest)], lower=True)
    left, precision = within - explained.T @ explained, np.linalg.inv(within)
    chosen: list[int] = []
    free = np.ones(len(rest), dtype=np.bool_)
    for _ in range(size):
        gain = np.log(left.diagonal() * precision.diagonal())
        # When most rows are measured, the gain may be negative; cheap rows then come first.
        worth = np.where(gain > 0, gain / cost[rest], gain * cost[rest])
        place = int(np.argmax(np.where(free, worth, -np.inf)))
        for matrix, pivot in ((left, left[place, place]), (precision, precision[place, place])):
            matrix -= np.outer(matrix[:, place], matrix[place] / pivot)
        # The chosen row is known except for its noise, and no longer belongs to the rest.
        left[place, place], precision[place, place] = NOISE**2, 1 / NOISE**2
        free[place] = False
        chosen.append(int(rest[place]))
    return tuple(chosen)


def _covariance(candidates: Candidates, seconds: Floats) -> Floats:
    """Return K, shape (n_rows, n_rows)."""
    decades = np.log10(seconds) / DECADES
    relative = candidates.matrix / seconds[:, np.newaxis]
    relative = relative / np.maximum(np.abs(relative).max(axis=0), np.finfo(float).tiny)
    kernels, variants = np.asarray(candidates.kernels), np.asarray(candidates.variants)
    alike = np.equal.outer(kernels, kernels)
    shared = BY_CLASS**2 * alike + BY_VARIANT**2 * (alike & np.equal.outer(variants, variants))
    near = np.exp(-0.5 * np.subtract.outer(decades, decades) ** 2)
    covariance: Floats = relative @ relative.T + (shared + BY_ALL**2) * near
    covariance[np.diag_indices(len(covariance))] += NOISE**2
    return covariance


def _covering(matrix: Floats, seconds: Floats, cost: Floats) -> tuple[int, ...]:
    """Return rows that exercise every feature: for each feature the row with its largest share for the cost."""
    relative = np.abs(matrix) / seconds[:, np.newaxis]
    share = relative / np.maximum(relative.max(axis=0, initial=0.0), np.finfo(float).tiny)
    worth = share**2 / cost[:, np.newaxis]
    exercised = np.flatnonzero((matrix != 0).any(axis=0))
    return tuple(dict.fromkeys(int(np.argmax(worth[:, column])) for column in exercised))


def _expected(candidates: Candidates, times: Floats) -> Floats:
    """Return times of all rows [s]: measured ones, and for the others those of trials or of a non-negative fit."""
    done = np.flatnonzero(np.isfinite(times))
    if candidates.expected is not None:
        seconds = np.array(candidates.expected, dtype=np.float64)
    elif not done.size:
        return np.ones(len(times))
    else:
        relative = candidates.matrix[done] / times[done, np.newaxis]
        scale = np.sqrt((relative**2).sum(axis=0))
        scale[scale == 0] = 1.0
        seconds = candidates.matrix @ (nnls(relative / scale, np.ones(done.size))[0] / scale)
        seconds = np.maximum(seconds, float(times[done].min()))
    seconds[done] = times[done]
    return seconds


def measuring_s(seconds: Floats) -> Floats:
    """Return the time that measuring takes [s], from the time of one run [s]."""
    return SETUP_S + RUNS * seconds


def candidates(planned: Sequence[Any], family: Family) -> Candidates:
    """Return a campaign's configurations with the features that a family uses."""
    values = [features.evaluate(case.counts, case.parameters) for case in planned]
    names = family.select({name for row in values for name, value in row.items() if value != 0})
    matrix = np.array([[row.get(name, 0.0) for name in names] for row in values], dtype=np.float64)
    kernels = tuple(case.kernel for case in planned)
    variants = tuple(str(sorted(case.variant.items())) for case in planned)
    seconds = np.array([case.seconds for case in planned], dtype=np.float64)
    return Candidates(matrix.reshape(len(planned), len(names)), kernels, variants, measuring_s, seconds)
