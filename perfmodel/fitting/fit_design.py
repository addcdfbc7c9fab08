"""A family's weights from a design, linear or not, and the value of them that a weights file keeps."""

from __future__ import annotations

import hashlib
import math
import warnings
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from threadpoolctl import ThreadpoolController

from perfmodel.errors import MixedDriversWarning, TooFewRowsError
from perfmodel.expressions.expression import Expression
from perfmodel.fitting import weights_file
from perfmodel.fitting.design import Design, label
from perfmodel.fitting.estimators import RelativeLeastSquares, RelativeNonlinearLeastSquares
from perfmodel.fitting.least_squares import Array
from perfmodel.fitting.resources import ResourceFit, ResourceModel, fit_resources
from perfmodel.fitting.weights_file import FitOptions, FittedWeight, FittedWeights, Mark
from perfmodel.models.model import Family, weight_name

if TYPE_CHECKING:
    from perfmodel.store import Measurements


def single_threaded() -> AbstractContextManager[Any]:
    """Return a context in which BLAS and LAPACK run in the calling thread alone.

    How sums are split over threads changes their last bits; and two threads on cores that others use as well wait for
    each other far longer than the work takes.
    """
    limits: AbstractContextManager[Any] = _controller().limit(limits=1, user_api="blas")
    return limits


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


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
    """Weights by their names, with what is known of them, and the estimator that found them.

    `coefficients` and their standard `errors`, infinite where there is none, have the shape (n_weights,). Weights in a
    group of `confounded` ones cannot be told apart by the rows.
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
        return np.asarray(table.model.jacobian(columns, values) * values)


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
    fit = RelativeLeastSquares(
        nonnegative=options.nonnegative, ridge=options.ridge, loss=options.loss, merge=options.merge, names=table.names
    ).fit(table.matrix, table.times, table.row_weights)
    groups = tuple(tuple(table.names[i] for i in group) for group in fit.confounded_)
    return DesignFit(table.names, fit.coef_, fit.standard_errors_, fit.marks_, groups, fit)


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
    columns = {name: tuple(places[part] for part in parts) for name, parts in family.resources.items()}
    fit = fit_resources(ResourceModel(columns, sharpness), table.matrix, table.times, table.row_weights)
    known = tuple(table.known) or ("w_sharpness",)
    return DesignFit(
        (*(f"w_{name}" for name in table.names), *known), np.append(fit.coef_, sharpness),
        np.append(fit.standard_errors_, 0.0), (*fit.marks_, _GIVEN), (), fit,
    )  # fmt: skip


def _fit_nonlinear(table: Design, family: Family, options: FitOptions) -> DesignFit:
    model, given = table.model, table.known
    if not 0 < len(model.weights) <= len(table.times):
        raise TooFewRowsError(len(table.times), model.weights)
    bounded = [weight for weight in family.weights if weight.name in model.weights]
    fit = RelativeNonlinearLeastSquares(
        expression=model,
        nonnegative=True,
        start={weight.name: weight.start for weight in bounded if weight.start is not None},
        bounds={weight.name: (weight.lower, weight.upper) for weight in bounded},
        starts=options.starts, loss=options.loss, random_state=options.seed, names=table.names,
    ).fit(table.matrix, table.times, table.row_weights)  # fmt: skip
    names = tuple(weight_name(family, name) for name in model.weights)
    groups = tuple(tuple(names[i] for i in group) for group in fit.confounded_)
    return DesignFit(
        (*names, *given), np.append(fit.coef_, list(given.values())),
        np.append(fit.standard_errors_, np.zeros(len(given))), (*fit.marks_, *(_GIVEN,) * len(given)), groups, fit,
    )  # fmt: skip


def fitted_weights(measurements: Measurements, family: Family, options: FitOptions, table: Design) -> FittedWeights:
    """Fit a family to the design of the measurements, and return what a weights file keeps of it, without intervals."""
    if measurements.mixture:
        warnings.warn(measurements.mixture, MixedDriversWarning, stacklevel=3)
    fit = fit_to_design(table, family, options)
    errors = weights_file.relative_errors(fit.predict(table), table.times)
    facts = None if family.plain_sum else measurements.facts
    return FittedWeights(
        family=family.name,
        definition=family.definition,
        definition_sha256=family.sha256,
        facts=facts.to_json() if facts else None,
        device=measurements.device,
        subgroup_size=table.subgroup_size,
        options=options,
        rows=len(table.times),
        measurements=rows_hash(measurements),
        rank=fit.estimator.rank_,
        condition=fit.estimator.condition_,
        degrees_of_freedom=fit.estimator.degrees_of_freedom_,
        converged=fit.estimator.converged_,
        residuals=weights_file.Residuals(
            geometric_mean=weights_file.geometric_mean_error(errors),
            median=float(np.median(errors)),
            largest=float(errors.max()),
        ),
        notes=(*measurements.notes, *_notes(fit)),
        features=tuple(sorted(fit.names)),
        weights=_weights(fit, family),
    )


def rows_hash(measurements: Measurements) -> str:
    """Return the SHA-256 of the rows of measurements, whatever their order.

    Of each row it covers the kernel, the variant, the sizes, the hash of the counts and the time.
    """
    lines = (f"{label(row)} {row.counts_hash} {row.seconds!r}" for row in measurements)
    return hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()


def _weights(fit: DesignFit, family: Family) -> dict[str, FittedWeight]:
    """Return the weights by their names, in the order of these."""
    rows = zip(fit.names, fit.coefficients, fit.errors, fit.marks, strict=True)
    return {
        name: FittedWeight(
            value=float(value),
            unit=family.weight_unit(name),
            standard_error=float(error) if math.isfinite(error) else None,
            marks=marks,
        )
        for name, value, error, marks in sorted(rows, key=lambda row: row[0])
    }


def _notes(fit: DesignFit) -> tuple[str, ...]:
    apart = "not told apart by the measurements (only what they cost together is known)"
    notes = [f"{apart}: {', '.join(group)}" for group in fit.confounded]
    if not fit.estimator.converged_:
        notes.append("the fit did not come to rest; its weights are the best that were met")
    return tuple(notes)
