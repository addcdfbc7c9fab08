r"""Which configurations to measure first: those that tell the most about the others for each second.

A row of a relative fit is :math:`z_i = x_i / t_i`, the features over the time, and what is fitted
is :math:`1 = z_i^T w + d_i + e_i`. The errors :math:`d` are the model's own: rows of one kernel
class err together, rows of one variant still more, rows of very different times less,

.. math:: B_{ij} = \left(c^2 [\text{class}] + v^2 [\text{variant}] + a^2\right)
    \exp\left(-\tfrac12 \log_{10}^2(t_i/t_j) / \ell^2\right),

and :math:`e` is noise of variance :math:`s^2`. With the prior :math:`w \sim N(0, P)`, where P
lets each feature make up the whole time of the row in which it weighs most, all rows have the
covariance :math:`K = Z P Z^T + B + s^2 I`. Rows S that are measured and rows R that are not share

.. math:: \log\det K_{SS} + \log\det K_{RR} - \log\det K

(twice their mutual information), and row i of R, once measured, adds

.. math:: \log\frac{K_{ii|S}}{K_{ii|R \setminus i}},

:math:`|S` being what is left of a covariance once S is known. Chosen is always the row that adds
the most for each second that it costs. The numerator alone, the log-determinant of what S tells of
the weights, prefers the row that is most extreme, and that is where a model is wrong: the fit goes to
a few odd rows, and ordinary kernels, which lie amidst them, are not measured at all. The
denominator is small for a row that others are like, which is what measuring should tell of.

Sources: A. Krause, A. Singh, C. Guestrin, *Near-Optimal Sensor Placements in Gaussian Processes*, Journal of
Machine Learning Research 9 (2008), section 4; sequential D-optimal design, V. V. Fedorov, *Theory of Optimal
Experiments*, 1972, chapter 2; a model's own error as a random function, M. C. Kennedy and A. O'Hagan, *Bayesian
Calibration of Computer Models*, Journal of the Royal Statistical Society B 63 (2001), section 4.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.linalg import solve_triangular
from scipy.optimize import nnls

Floats = npt.NDArray[np.float64]

#: Each batch makes the measured set at most this many times as large before times are predicted anew.
GROWTH = 1.5


@dataclass(frozen=True)
class ModelError:
    """How far a model is off, and together where: relative errors.

    The values are those of residuals of ``stevens_kloeckner_2016`` on measurement kernels, of the device
    where it errs most (``docs/choosing.md``).

    Parameters
    ----------
    by_class, by_variant, by_all
        Deviations c, v and a that the rows of a class, of a variant and all rows share [1].
    noise
        Deviation s that each row has for itself, also since its time is known only from a trial [1].
    decades
        Scale l on which errors change with the time [powers of ten].
    """

    by_class: float = 0.45
    by_variant: float = 0.3
    by_all: float = 0.25
    noise: float = 0.2
    decades: float = 1.0


@dataclass(frozen=True, eq=False)
class Candidates:
    """Configurations that could be measured.

    Parameters
    ----------
    matrix
        Feature values, shape (n_rows, n_features).
    kernels, variants
        Which class and which variant of it each row is; any words, length n_rows.
    cost
        What measuring rows costs as a function of their times [s]: an array for one of its shape.
    expected
        What a trial of each took [s], shape (n_rows,); None where there were no trials. Then
        times are predicted by fits to what has been measured.
    error
        How far the model is off.
    """

    matrix: Floats
    kernels: Sequence[str]
    variants: Sequence[str]
    cost: Callable[[Floats], Floats] = np.array
    expected: Floats | None = None
    error: ModelError = ModelError()


def choose(
    candidates: Candidates, measure: Callable[[int], float], wanted: int
) -> tuple[int, ...]:
    """Choose and measure configurations, one batch after another.

    Parameters
    ----------
    candidates
        What there is to choose from.
    measure
        Measures the configuration at a position and returns its time [s], infinity if it fails.
    wanted
        How many to measure; as many as there are features, which a fit needs, if that is more.

    Returns
    -------
    tuple of int
        Positions in the order in which they were measured.
    """
    times, found = np.full(len(candidates.matrix), np.nan), []
    while batch := choose_next(candidates, times, wanted):
        for row in batch:
            times[row] = measure(row)
            found.append(row)
    return tuple(found)


def choose_next(candidates: Candidates, times: Floats, wanted: int) -> tuple[int, ...]:
    """Choose what to measure next, given what has been.

    The first batch, a pilot, has one row for each feature; each further batch is half of what
    has been measured, or what is wanted still.

    Parameters
    ----------
    candidates
        What there is to choose from.
    times
        What measured rows took [s], NaN for those not measured yet and infinity for those that
        failed, shape (n_rows,).
    wanted
        How many shall have a time in the end; at least as many as there are features.

    Returns
    -------
    tuple of int
        Their positions, best first; empty if there is nothing left to do.
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
    return _most_telling(candidates, seconds, done, open_rows, min(size, missing, int(open_rows.sum())))


def _most_telling(
    candidates: Candidates, seconds: Floats, done: npt.NDArray[np.bool_], open_rows: npt.NDArray[np.bool_], size: int
) -> tuple[int, ...]:
    covariance, cost = _covariance(candidates, seconds), candidates.cost(seconds)
    known, rest = np.flatnonzero(done), np.flatnonzero(open_rows)
    within = covariance[np.ix_(rest, rest)]
    factor = np.linalg.cholesky(covariance[np.ix_(known, known)])
    told = solve_triangular(factor, covariance[np.ix_(known, rest)], lower=True)
    left, precision = within - told.T @ told, np.linalg.inv(within)
    found: list[int] = []
    free = np.ones(len(rest), dtype=np.bool_)
    for _ in range(size):
        gain = np.log(left.diagonal() * precision.diagonal())
        # Where most is measured, rows tell less of the others than these tell of them: then cheap before dear.
        worth = np.where(gain > 0, gain / cost[rest], gain * cost[rest])
        place = int(np.argmax(np.where(free, worth, -np.inf)))
        noise = candidates.error.noise**2
        for matrix, pivot in ((left, left[place, place]), (precision, precision[place, place])):
            matrix -= np.outer(matrix[:, place], matrix[place] / pivot)
        # What is taken is known but for its noise, and is among the rest no more.
        left[place, place], precision[place, place] = noise, 1 / noise
        free[place] = False
        found.append(int(rest[place]))
    return tuple(found)


def _covariance(candidates: Candidates, seconds: Floats) -> Floats:
    """Return K, shape (n_rows, n_rows)."""
    error, decades = candidates.error, np.log10(seconds) / candidates.error.decades
    relative = candidates.matrix / seconds[:, np.newaxis]
    relative = relative / np.maximum(np.abs(relative).max(axis=0), np.finfo(float).tiny)
    kernels, variants = np.asarray(candidates.kernels), np.asarray(candidates.variants)
    alike = np.equal.outer(kernels, kernels)
    shared = error.by_class**2 * alike + error.by_variant**2 * (alike & np.equal.outer(variants, variants))
    near = np.exp(-0.5 * np.subtract.outer(decades, decades) ** 2)
    found: Floats = relative @ relative.T + (shared + error.by_all**2) * near
    found[np.diag_indices(len(found))] += error.noise**2
    return found


def _covering(matrix: Floats, seconds: Floats, cost: Floats) -> tuple[int, ...]:
    """Rows that exercise every feature: for each the one in which it weighs most for its cost."""
    relative = np.abs(matrix) / seconds[:, np.newaxis]
    share = relative / np.maximum(relative.max(axis=0, initial=0.0), np.finfo(float).tiny)
    worth = share**2 / cost[:, np.newaxis]
    exercised = np.flatnonzero((matrix != 0).any(axis=0))
    return tuple(dict.fromkeys(int(np.argmax(worth[:, column])) for column in exercised))


def _expected(candidates: Candidates, times: Floats) -> Floats:
    """Times of all rows: those measured, and for the rest those of trials or of a non-negative fit."""
    done = np.flatnonzero(np.isfinite(times))
    if candidates.expected is not None:
        found = np.array(candidates.expected, dtype=np.float64)
    elif not done.size:
        return np.ones(len(times))
    else:
        relative = candidates.matrix[done] / times[done, np.newaxis]
        scale = np.sqrt((relative**2).sum(axis=0))
        scale[scale == 0] = 1.0
        found = candidates.matrix @ (nnls(relative / scale, np.ones(done.size))[0] / scale)
        found = np.maximum(found, float(times[done].min()))
    found[done] = times[done]
    return found
