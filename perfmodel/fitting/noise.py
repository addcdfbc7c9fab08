"""How noisy each measured time is, and what weight that gives it in a fit."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from perfmodel.fitting.linear.robust import NORMAL

if TYPE_CHECKING:
    from perfmodel.store import Measurement, Measurements

FLOOR = 0.05
"""Relative error that a model makes without any noise: less noise than this hardly matters."""


def relative_noise(row: Measurement) -> float:
    """Return the standard deviation of a row's runs, from their median deviation, over its time; 1 for one run."""
    samples = row.kept_s
    if len(samples) < 2:
        return 1.0
    middle = median(samples)
    return NORMAL * median(abs(sample - middle) for sample in samples) / row.seconds


def noise_weights(measurements: Measurements, floor: float = FLOOR) -> npt.NDArray[np.float64]:
    r"""Return a weight for each measurement, :math:`1 / (\epsilon^2 + \sigma_j^2)`.

    :math:`\epsilon` is the relative error of the model itself (`floor`), above zero. Without it the fit
    would depend on the quietest kernels alone.
    """
    noise = np.array([relative_noise(row) for row in measurements], dtype=np.float64)
    weights: npt.NDArray[np.float64] = 1 / (floor**2 + noise**2)
    return weights
