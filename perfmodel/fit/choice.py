r"""Which configurations to measure first: the most information for each second.

A row of a relative fit is :math:`z_i = x_i / t_i`, the features over the time, and the
information of measured rows about the weights is :math:`M = \sum_i z_i z_i^T`, whose inverse is
proportional to the weights' covariance where relative errors are alike.  Measuring row
:math:`i` as well raises :math:`\log\det M` by :math:`\log(1 + z_i^T M^{-1} z_i)`; chosen is
always the row with the largest rise for each second that it costs (a sequential D-optimal
design: V. V. Fedorov, *Theory of Optimal Experiments*, 1972, chapter 2).  Times of what is not
measured yet come from a fit to what is: first to a pilot, then after each batch anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from scipy.optimize import nnls

Floats = npt.NDArray[np.float64]

#: Weight of what is known of each weight before anything is measured, on scaled columns.
PRIOR = 1e-6
#: Each batch makes the measured set at most this many times as large before times are predicted anew.
GROWTH = 1.5


@dataclass(frozen=True, eq=False)
class Candidates:
    """Configurations that could be measured.

    Parameters
    ----------
    matrix
        Feature values, shape (n_rows, n_features).
    cost
        What measuring each costs as a function of its time [s]: compiling and all runs, for
        arrays of one shape.
    """

    matrix: Floats
    cost: Callable[[Floats], Floats] = field(default=lambda seconds: seconds)


def choose(
    candidates: Candidates,
    measure: Callable[[int], float],
    wanted: int,
    expected: Floats | None = None,
) -> tuple[int, ...]:
    """Choose and measure configurations, one after another.

    Parameters
    ----------
    candidates
        What there is to choose from.
    measure
        Measures the configuration at a position and returns its time [s].
    wanted
        How many to measure; at least one for each feature is, if there are so many.
    expected
        First guesses of all times [s], shape (n_rows,), as trials of a campaign's plan give
        them.  By default the first pilot is chosen as if all times were alike.

    Returns
    -------
    tuple of int
        Positions in the order in which they were measured.
    """
    matrix = candidates.matrix
    wanted = min(wanted, len(matrix))
    guess = np.ones(len(matrix)) if expected is None else np.asarray(expected, dtype=np.float64)
    chosen: list[int] = []
    times: list[float] = []
    pilot = len(_covering(matrix, guess, candidates.cost(guess)))
    while len(chosen) < wanted:
        batch = max(pilot, int((GROWTH - 1) * len(chosen)), 1)
        for row in _batch(candidates, guess, chosen, min(batch, wanted - len(chosen))):
            chosen.append(row)
            times.append(measure(row))
        guess = _predicted(matrix, chosen, np.array(times), guess)
    return tuple(chosen)


def _batch(candidates: Candidates, times: Floats, measured: list[int], size: int) -> Iterable[int]:
    """The next rows: first one for each feature, then those that tell the most for each second."""
    cost = candidates.cost(times)
    relative = candidates.matrix / times[:, np.newaxis]
    scale = np.sqrt((relative**2).sum(axis=0))
    relative = relative / np.where(scale > 0, scale, 1.0)
    unseen = ~(candidates.matrix[measured] != 0).any(axis=0)
    owed = [] if not unseen.any() else _covering(candidates.matrix[:, unseen], times, cost)
    found = list(owed)[:size]
    inverse = np.linalg.inv(
        relative[measured + found].T @ relative[measured + found]
        + PRIOR * np.eye(relative.shape[1])
    )
    gains = np.einsum("ij,jk,ik->i", relative, inverse, relative)
    taken = np.zeros(len(relative), dtype=bool)
    taken[measured + found] = True
    while len(found) < size:
        worth = np.where(taken, -np.inf, np.log1p(np.maximum(gains, 0.0)) / cost)
        row = int(np.argmax(worth))
        direction = inverse @ relative[row]
        inverse -= np.outer(direction, direction) / (1 + gains[row])
        gains -= (relative @ direction) ** 2 / (1 + gains[row])
        taken[row] = True
        found.append(row)
    return found


def _covering(matrix: Floats, times: Floats, cost: Floats) -> tuple[int, ...]:
    """Rows that exercise every feature: for each the one in which it weighs most for its cost."""
    relative = np.abs(matrix) / times[:, np.newaxis]
    share = relative / np.maximum(relative.max(axis=0), np.finfo(float).tiny)
    worth = share**2 / cost[:, np.newaxis]
    exercised = np.flatnonzero((matrix != 0).any(axis=0))
    return tuple(dict.fromkeys(int(np.argmax(worth[:, column])) for column in exercised))


def _predicted(matrix: Floats, measured: list[int], times: Floats, guess: Floats) -> Floats:
    """Times of all rows: those measured, and a non-negative fit's for the rest."""
    relative = matrix[measured] / times[:, np.newaxis]
    scale = np.sqrt((relative**2).sum(axis=0))
    scale[scale == 0] = 1.0
    weights = nnls(relative / scale, np.ones(len(measured)))[0] / scale
    found = matrix @ weights
    found = np.where(found > 0, found, guess if len(measured) == 0 else float(np.median(times)))
    found = np.maximum(found, float(times.min()))
    found[measured] = times
    return np.asarray(found, dtype=np.float64)
