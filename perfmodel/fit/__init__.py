"""From measured rows to weights in seconds per unit of a feature.

The room can be called too: ``perfmodel.fit(measurements)`` is short for
:func:`perfmodel.predict.fit`, which also wraps the weights into a model.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from perfmodel.fit.design import Design, design
from perfmodel.fit.estimators import RelativeLeastSquares
from perfmodel.fit.linear import Solution, least_squares
from perfmodel.fit.metrics import geometric_mean_error, relative_errors
from perfmodel.fit.output import write_whole
from perfmodel.fit.weights import FittedWeights, Residuals, Weight, fit_weights, read_weights
from perfmodel.rooms import make_callable

__all__ = [
    "Design",
    "FittedWeights",
    "RelativeLeastSquares",
    "Residuals",
    "Solution",
    "Weight",
    "design",
    "fit_weights",
    "geometric_mean_error",
    "least_squares",
    "read_weights",
    "relative_errors",
    "write_whole",
]


def _called(*arguments: Any, **options: Any) -> Any:
    # The model's room lies to the right of this one and is looked up by name: nothing in here
    # depends on it.
    return import_module("perfmodel.predict").fit(*arguments, **options)


make_callable(__name__)
