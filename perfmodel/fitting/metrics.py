"""How far predictions are from measured times."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

FLOOR = 1e-3
"""Relative errors below this count as this, so that one lucky hit does not make a mean."""


def relative_errors(
    predicted: npt.ArrayLike, measured: npt.ArrayLike
) -> npt.NDArray[np.float64]:
    """Return :math:`|p - t| / t` for predicted and measured times of one shape [s].

    Examples
    --------
    >>> relative_errors([1.5, 3.0], [1.0, 4.0]).tolist()
    [0.5, 0.25]
    """
    p, t = np.asarray(predicted, dtype=np.float64), np.asarray(measured, dtype=np.float64)
    errors: npt.NDArray[np.float64] = np.abs(p - t) / t
    return errors


def geometric_mean_error(errors: npt.ArrayLike) -> float:
    """Return the geometric mean of relative errors, each at least 0.1 %; NaN of none.

    Examples
    --------
    >>> round(geometric_mean_error([0.1, 0.4]), 12), round(geometric_mean_error([0.0, 0.1]), 12)
    (0.2, 0.01)
    """
    floored = np.maximum(np.asarray(errors, dtype=np.float64), FLOOR)
    return float(np.exp(np.mean(np.log(floored)))) if floored.size else float("nan")
