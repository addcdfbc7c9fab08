"""How noisy each measured time is, and what weight that gives it in a fit."""

from __future__ import annotations

import math
from statistics import median
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from perfmodel.fitting.linear.robust import NORMAL
from perfmodel.store.measurement import AGREEMENT

if TYPE_CHECKING:
    from perfmodel.store import Measurement, Measurements

FLOOR = 0.05
"""Relative error that a model makes without any noise: less noise than this hardly matters."""


def relative_noise(row: Measurement) -> float:
    """Return the standard deviation of a row's time, over the time.

    For a row of several visits it is what its two lowest visits' difference tells: two draws from a normal
    distribution differ by 2/sqrt(pi) of its standard deviation on average. Otherwise it is that of its runs, from
    their median deviation; 1 for one run.
    """
    if not math.isnan(row.disagreement):
        return math.sqrt(math.pi) / 2 * row.disagreement
    samples = row.kept_s
    if len(samples) < 2:
        return 1.0
    middle = median(samples)
    return NORMAL * median(abs(sample - middle) for sample in samples) / row.seconds


def agreement_weights(measurements: Measurements) -> npt.NDArray[np.float64]:
    r"""Return a weight for each measurement: 1, or :math:`(\alpha / d_j)^2` where its visits disagree.

    :math:`d_j` is how far the two lowest visits differ and :math:`\alpha` what they may (:data:`AGREEMENT`).
    """
    apart = np.array([row.disagreement for row in measurements], dtype=np.float64)
    weights: npt.NDArray[np.float64] = (AGREEMENT / np.fmax(apart, AGREEMENT)) ** 2
    return weights


def noise_weights(measurements: Measurements, floor: float = FLOOR) -> npt.NDArray[np.float64]:
    r"""Return a weight for each measurement, :math:`1 / (\epsilon^2 + \sigma_j^2)`.

    :math:`\epsilon` is the relative error of the model itself (`floor`), above zero. Without it the fit
    would depend on the quietest kernels alone.
    """
    noise = np.array([relative_noise(row) for row in measurements], dtype=np.float64)
    weights: npt.NDArray[np.float64] = 1 / (floor**2 + noise**2)
    return weights
