"""A family's weights from a design, linear or not."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from perfmodel.errors import TooFewRowsError
from perfmodel.expressions.expression import Expression
from perfmodel.fitting.design import Design
from perfmodel.fitting.linear.diagnosis import Mark
from perfmodel.fitting.linear.estimators import RelativeLeastSquares
from perfmodel.fitting.linear.least_squares import Array
from perfmodel.fitting.nonlinear.estimator import RelativeNonlinearLeastSquares
from perfmodel.fitting.options import FitOptions
from perfmodel.fitting.resources.estimator import ResourceFit, ResourceModel, fit_resources
from perfmodel.fitting.threads import single_threaded
from perfmodel.models.model import Family, weight_name

_GIVEN: tuple[Mark, ...] = ("given",)
DEFAULT_SHARPNESS = 3.0
"""Sharpness of a maximum of resources where neither a fact nor cross-validation gives it."""


@dataclass(frozen=True, eq=False)
class Given:
    """A model without any weight to fit, with the attributes of an estimator."""

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
    estimator: RelativeLeastSquares | RelativeNonlinearLeastSquares | ResourceFit | Given

    def predict(self, table: Design) -> Array:
        """Return the seconds of a design's rows, shape (n_rows,), of the same columns."""
        return self.estimator.predict(table.matrix)

    def by_weight(self, table: Design) -> Array:
        r"""Return the seconds that rest on each fitted weight, :math:`w \, \partial T / \partial w`.

        Of a design's rows with the same columns, shape (n_rows, n_weights), in the order of its model's weights.
        """
        known = dict(zip(self.names, self.coefficients, strict=True))  # a sum's weights have their features' names
        values = np.array([known[w] if w in known else known[w.removeprefix("w_")] for w in table.model.weights])
        if isinstance(self.estimator, RelativeLeastSquares):
            return np.asarray(table.matrix * values)
        if isinstance(self.estimator, ResourceFit):
            order = [table.names.index(weight.removeprefix("w_")) for weight in table.model.weights]
            return np.asarray(self.estimator.by_weight(table.matrix)[:, order])
        columns = dict(zip(table.names, table.matrix.T, strict=True))
        found: Array = table.model.jacobian(columns, values) * values
        return found


def fit_to_design(table: Design, family: Family, options: FitOptions | None = None) -> DesignFit:
    """Fit a family to a design; raise TooFewRowsError for fewer rows than weights."""
    with single_threaded():
        if family.plain_sum:
            return _fit_linear(table, options or FitOptions())
        if family.resources:
            return _fit_resources(table, family)
        if table.known and not table.model.weights and len(table.times):
            return _take_given(table)
        return _fit_nonlinear(table, family, options or FitOptions())


def _fit_linear(table: Design, options: FitOptions) -> DesignFit:
    if not table.names or not len(table.times):
        raise TooFewRowsError(len(table.times), table.names)
    found = RelativeLeastSquares(
        nonnegative=options.nonnegative, ridge=options.ridge, loss=options.loss,
        merge=options.merge, names=table.names,
    ).fit(table.matrix, table.times, table.row_weights)  # fmt: skip
    groups = tuple(tuple(table.names[i] for i in group) for group in found.confounded_)
    return DesignFit(table.names, found.coef_, found.standard_errors_, found.marks_, groups, found)


def _take_given(table: Design) -> DesignFit:
    """Return the weights of a design whose weights are all given by the device's facts."""
    values, marks = np.array(list(table.known.values())), (_GIVEN,) * len(table.known)
    done = Given(table.model, len(table.times))
    return DesignFit(tuple(table.known), values, np.zeros(len(values)), marks, (), done)


def _fit_resources(table: Design, family: Family) -> DesignFit:
    """Return the weights of a family of resources; its sharpness is known."""
    if len(table.times) < 2:
        raise TooFewRowsError(len(table.times), table.model.weights)
    places = {name: k for k, name in enumerate(table.names)}
    sharpness = next(iter(table.known.values()), DEFAULT_SHARPNESS)
    form = ResourceModel(
        {name: tuple(places[own] for own in some) for name, some in family.resources.items()}, sharpness
    )
    found = fit_resources(form, table.matrix, table.times, table.row_weights)
    known = tuple(table.known) or ("w_sharpness",)
    return DesignFit(
        (*(f"w_{name}" for name in table.names), *known), np.append(found.coef_, sharpness),
        np.append(found.standard_errors_, 0.0), (*found.marks_, _GIVEN), (), found,
    )  # fmt: skip


def _fit_nonlinear(table: Design, family: Family, options: FitOptions) -> DesignFit:
    model, given = table.model, table.known
    if not 0 < len(model.weights) <= len(table.times):
        raise TooFewRowsError(len(table.times), model.weights)
    own = {weight.name: weight for weight in family.weights if weight.name in model.weights}
    found = RelativeNonlinearLeastSquares(
        expression=model,
        nonnegative=True,
        start={name: weight.start for name, weight in own.items() if weight.start is not None},
        bounds={name: (weight.lower, weight.upper) for name, weight in own.items()},
        starts=options.starts, loss=options.loss, random_state=options.seed, names=table.names,
    ).fit(table.matrix, table.times, table.row_weights)  # fmt: skip
    names = tuple(weight_name(family, name) for name in model.weights)
    groups = tuple(tuple(names[i] for i in group) for group in found.confounded_)
    return DesignFit(
        (*names, *given),
        np.append(found.coef_, list(given.values())),
        np.append(found.standard_errors_, np.zeros(len(given))),
        (*found.marks_, *(_GIVEN,) * len(given)), groups, found,
    )  # fmt: skip
