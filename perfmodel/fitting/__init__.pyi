from . import device_folder
from .design import Design, DesignFit, build_design, fit_to_design
from .family_fits import FamilyFits, error_of_kernels, fit_weights, log_errors
from .least_squares import Fit, Solution, fit_linear, solve_least_squares
from .weights_file import (
    FitOptions,
    FittedWeight,
    FittedWeights,
    Residuals,
    geometric_mean_error,
    read_weights,
    relative_errors,
)

__all__ = [
    "Design", "DesignFit", "FamilyFits", "Fit", "FitOptions", "FittedWeight", "FittedWeights", "Residuals", "Solution",
    "build_design", "device_folder", "error_of_kernels", "fit_linear", "fit_to_design", "fit_weights",
    "geometric_mean_error", "log_errors", "read_weights", "relative_errors", "solve_least_squares",
]  # fmt: skip
