"""From measured rows to weights in seconds per unit of a feature.

The room can be called too: ``perfmodel.fit(measurements)`` is short for
:func:`perfmodel.predict.fit`, which also wraps the weights into a model.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from perfmodel.fit.design import Design, design
from perfmodel.fit.design_fit import DesignFit, FitOptions, fit_design
from perfmodel.fit.estimators import OrdinaryLeastSquares, RelativeLeastSquares
from perfmodel.fit.linear import Solution, least_squares
from perfmodel.fit.metrics import geometric_mean_error, relative_errors
from perfmodel.fit.noise import noise_weights
from perfmodel.fit.nonlinear_estimator import RelativeNonlinearLeastSquares
from perfmodel.fit.output import write_whole
from perfmodel.fit.weights import fit_weights
from perfmodel.fit.weights_file import FittedWeights, Residuals, Weight, read_weights
from perfmodel.rooms import make_callable

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


def _called(*arguments: Any, **options: Any) -> Any:
    # The model's room lies to the right of this one and is looked up by name: nothing in here
    # depends on it.
    return import_module("perfmodel.predict").fit(*arguments, **options)


make_callable(__name__)
