"""From measured rows to weights in seconds per unit of a feature."""

from __future__ import annotations

from perfmodel.fitting.design import Design, design
from perfmodel.fitting.fit_design import DesignFit, FitOptions, fit_design
from perfmodel.fitting.linear.estimators import OrdinaryLeastSquares, RelativeLeastSquares
from perfmodel.fitting.linear.least_squares import Solution, least_squares
from perfmodel.fitting.metrics import geometric_mean_error, relative_errors
from perfmodel.fitting.nonlinear.estimator import RelativeNonlinearLeastSquares
from perfmodel.fitting.uncertainty.noise import noise_weights
from perfmodel.fitting.weights import fit_weights
from perfmodel.fitting.weights_file import FittedWeights, Residuals, Weight, read_weights
from perfmodel.io import write_whole

__all__ = [
    "Design",
    "DesignFit",
    "FitOptions",
    "FittedWeights",
    "OrdinaryLeastSquares",
    "RelativeLeastSquares",
    "RelativeNonlinearLeastSquares",
    "Residuals",
    "Solution",
    "Weight",
    "design",
    "fit_design",
    "fit_weights",
    "geometric_mean_error",
    "least_squares",
    "noise_weights",
    "read_weights",
    "relative_errors",
    "write_whole",
]
