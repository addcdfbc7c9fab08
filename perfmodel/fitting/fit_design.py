"""A family's weights from a design, linear or not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, Field

from perfmodel.errors import TooFewRowsError
from perfmodel.expressions.expression import Expression
from perfmodel.fitting.design import Design
from perfmodel.fitting.linear.diagnosis import Mark
from perfmodel.fitting.linear.estimators import RelativeLeastSquares
from perfmodel.fitting.linear.least_squares import Array
from perfmodel.fitting.nonlinear.estimator import RelativeNonlinearLeastSquares
from perfmodel.fitting.threads import single_threaded
from perfmodel.models import Family
from perfmodel.models.binding import weight_name


class FitOptions(BaseModel):
    """How a fit is made; see :class:`~perfmodel.fitting.RelativeLeastSquares`.

    Parameters
    ----------
    nonnegative
        Whether weights below zero are ruled out. In a family with an expression they always are,
        and its own weights keep their own bounds.
    ridge
        How strongly weights are drawn to zero (linear families).
    loss
        ``linear``, ``huber``, ``soft_l1`` or ``cauchy``.
    merge
        Whether features that are not told apart share what they cost together, with a note,
        instead of being refused (linear families).
    weighting
        ``equal`` for every row, or by measured ``noise`` (:func:`~perfmodel.fitting.noise_weights`).
    fit_facts
        Whether a weight is fitted where the device's facts do not give it; otherwise such a family is refused.
    starts, seed
        How many starting points, and the seed they are drawn with (families with an expression).
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    nonnegative: bool = False
    ridge: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    loss: str = "linear"
    merge: bool = True
    weighting: Literal["equal", "noise"] = "equal"
    fit_facts: bool = True
    starts: int = 8
    seed: int = 0


@dataclass(frozen=True, eq=False)
class Given:
    """A model of which nothing is to be fitted, with the attributes of an estimator.

    Parameters
    ----------
    model
        The expression, without weights.
    degrees_of_freedom_
        How many rows it could have been fitted to.
    """

    model: Expression
    degrees_of_freedom_: float
    rank_: int = 0
    condition_: float = 1.0
    converged_: bool = True

    def predict(self, X: Array) -> Array:  # noqa: N803
        """Return the times [s] of rows of feature values, shape (n_rows,)."""
        columns = dict(zip(self.model.features, X.T, strict=True))
        times: Array = np.zeros(len(X)) + self.model.value(columns, [])
        return times


@dataclass(frozen=True, eq=False)
class DesignFit:
    """Weights and what is known of them.

    Parameters
    ----------
    names
        The weights' names.
    coefficients, errors
        Their values and standard errors, infinite where there is none, shape (n_weights,).
    marks
        Their marks (:data:`~perfmodel.fitting.linear.diagnosis.MEANING`).
    confounded
        Groups of weights that the rows cannot tell apart.
    estimator
        What found them; where the device's facts give them all, what evaluates the model.
    """

    names: tuple[str, ...]
    coefficients: Array
    errors: Array
    marks: tuple[tuple[Mark, ...], ...]
    confounded: tuple[tuple[str, ...], ...]
    estimator: RelativeLeastSquares | RelativeNonlinearLeastSquares | Given

    def predict(self, table: Design) -> Array:
        """Return the seconds of a design's rows, shape (n_rows,), of the same columns."""
        return self.estimator.predict(table.matrix)


def fit_design(
    table: Design,
    family: Family,
    options: FitOptions | None = None,
    sample_weight: npt.ArrayLike | None = None,
) -> DesignFit:
    """Fit a family to a design.

    Raises
    ------
    TooFewRowsError
        If there are fewer rows than weights.
    """
    asked = options or FitOptions()
    fit = _linear if table.model is None else _nonlinear
    with single_threaded():
        return fit(table, family, asked, sample_weight)


def _linear(
    table: Design, family: Family, options: FitOptions, sample_weight: npt.ArrayLike | None
) -> DesignFit:
    if not table.names or not len(table.times):
        raise TooFewRowsError(len(table.times), table.names)
    found = RelativeLeastSquares(
        nonnegative=options.nonnegative, ridge=options.ridge, loss=options.loss,
        merge=options.merge, names=table.names,
    ).fit(table.matrix, table.times, sample_weight)  # fmt: skip
    groups = tuple(tuple(table.names[i] for i in group) for group in found.confounded_)
    return DesignFit(
        table.names, found.coef_, found.standard_errors_, found.marks_, groups, found
    )


def _nonlinear(
    table: Design, family: Family, options: FitOptions, sample_weight: npt.ArrayLike | None
) -> DesignFit:
    model, given = table.model, dict(table.known or {})
    none: tuple[tuple[Mark, ...], ...] = (("given",),) * len(given)
    if model is not None and not model.weights and given and len(table.times):
        values, done = np.array(list(given.values())), Given(model, len(table.times))
        return DesignFit(tuple(given), values, np.zeros(len(given)), none, (), done)
    if model is None or not 0 < len(model.weights) <= len(table.times):
        raise TooFewRowsError(len(table.times), model.weights if model else ())
    own = {weight.name: weight for weight in family.weights if weight.name in model.weights}
    found = RelativeNonlinearLeastSquares(
        expression=model,
        nonnegative=True,
        start={name: weight.start for name, weight in own.items() if weight.start is not None},
        bounds={name: (weight.lower, weight.upper) for name, weight in own.items()},
        starts=options.starts, loss=options.loss, random_state=options.seed, names=table.names,
    ).fit(table.matrix, table.times, sample_weight)  # fmt: skip
    names = tuple(weight_name(family, name) for name in model.weights)
    groups = tuple(tuple(names[i] for i in group) for group in found.confounded_)
    return DesignFit(
        (*names, *given),
        np.append(found.coef_, list(given.values())),
        np.append(found.standard_errors_, np.zeros(len(given))),
        (*found.marks_, *none), groups, found,
    )  # fmt: skip
