"""From measured rows to weights in seconds per unit of a feature.

Names are loaded at their first use: a prediction reads weights, and needs no scikit-learn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfmodel.lazy import loader

if TYPE_CHECKING:
    from perfmodel.fitting.design import Design, build_design
    from perfmodel.fitting.family_fits import FamilyFits
    from perfmodel.fitting.fit_design import DesignFit, fit_to_design
    from perfmodel.fitting.linear.estimators import OrdinaryLeastSquares, RelativeLeastSquares
    from perfmodel.fitting.linear.least_squares import Solution, solve_least_squares
    from perfmodel.fitting.metrics import geometric_mean_error, relative_errors
    from perfmodel.fitting.noise import noise_weights
    from perfmodel.fitting.nonlinear.estimator import RelativeNonlinearLeastSquares
    from perfmodel.fitting.options import FitOptions
    from perfmodel.fitting.weights import fit_weights
    from perfmodel.fitting.weights_file import FittedWeight, FittedWeights, Residuals, read_weights

__all__ = [
    "Design",
    "DesignFit",
    "FamilyFits",
    "FitOptions",
    "FittedWeight",
    "FittedWeights",
    "OrdinaryLeastSquares",
    "RelativeLeastSquares",
    "RelativeNonlinearLeastSquares",
    "Residuals",
    "Solution",
    "build_design",
    "fit_to_design",
    "fit_weights",
    "geometric_mean_error",
    "noise_weights",
    "read_weights",
    "relative_errors",
    "solve_least_squares",
]

_HOMES = {
    "Design": "design",
    "DesignFit": "fit_design",
    "FamilyFits": "family_fits",
    "FitOptions": "options",
    "FittedWeight": "weights_file",
    "FittedWeights": "weights_file",
    "OrdinaryLeastSquares": "linear.estimators",
    "RelativeLeastSquares": "linear.estimators",
    "RelativeNonlinearLeastSquares": "nonlinear.estimator",
    "Residuals": "weights_file",
    "Solution": "linear.least_squares",
    "build_design": "design",
    "fit_to_design": "fit_design",
    "fit_weights": "weights",
    "geometric_mean_error": "metrics",
    "noise_weights": "noise",
    "read_weights": "weights_file",
    "relative_errors": "metrics",
    "solve_least_squares": "linear.least_squares",
}

__getattr__ = loader(__name__, _HOMES)
