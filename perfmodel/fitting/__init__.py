"""From measured rows to weights in seconds per unit of a feature.

Rows become a matrix, from which weights are fitted (`design`): by linear least squares (`least_squares`, `linear`),
from several starting points (`nonlinear`), or for a maximum of resources (`resources`); `estimators` has the first two
in scikit-learn's conventions. `family_fits` has all fits of a family to a device's rows: from its predictions of rows
that a fit has not seen come intervals (`conformal`), ties (`selection`) and the errors of predictions that one run
scales (`anchored`). `weights_file` is what is kept of them.

Names are loaded at their first use: a prediction reads weights, and needs no scikit-learn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfmodel.lazy import loader

if TYPE_CHECKING:
    from perfmodel.fitting import choice, device_folder
    from perfmodel.fitting.design import Design, DesignFit, build_design, fit_to_design, noise_weights
    from perfmodel.fitting.estimators import OrdinaryLeastSquares, RelativeLeastSquares, RelativeNonlinearLeastSquares
    from perfmodel.fitting.family_fits import FamilyFits, error_of_kernels, fit_weights, log_errors
    from perfmodel.fitting.least_squares import Solution, solve_least_squares
    from perfmodel.fitting.weights_file import (
        FitOptions,
        FittedWeight,
        FittedWeights,
        Residuals,
        geometric_mean_error,
        read_weights,
        relative_errors,
    )

__all__ = [
    "Design", "DesignFit", "FamilyFits", "FitOptions", "FittedWeight", "FittedWeights", "OrdinaryLeastSquares",
    "RelativeLeastSquares", "RelativeNonlinearLeastSquares", "Residuals", "Solution", "build_design",
    "error_of_kernels", "fit_to_design", "fit_weights", "geometric_mean_error", "log_errors", "noise_weights",
    "read_weights", "relative_errors", "solve_least_squares",
]  # fmt: skip

_HOMES = {
    **dict.fromkeys(("FitOptions", "FittedWeight", "FittedWeights", "Residuals", "read_weights"), "weights_file"),
    **dict.fromkeys(("geometric_mean_error", "relative_errors"), "weights_file"),
    **dict.fromkeys(("Design", "DesignFit", "build_design", "fit_to_design", "noise_weights"), "design"),
    **dict.fromkeys(("FamilyFits", "error_of_kernels", "fit_weights", "log_errors"), "family_fits"),
    **dict.fromkeys(("OrdinaryLeastSquares", "RelativeLeastSquares", "RelativeNonlinearLeastSquares"), "estimators"),
    **dict.fromkeys(("Solution", "solve_least_squares"), "least_squares"),
}

__getattr__ = loader(__name__, _HOMES)
