"""From measurements to the matrix to which a family is fitted, and from this matrix to the weights of the family."""

import hashlib
import math
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from threadpoolctl import ThreadpoolController

from perfmodel.counts import KernelCounts
from perfmodel.errors import FamilyError, PerfModelWarning, StoreError
from perfmodel.expressions import Expression
from perfmodel.fitting import weights_file
from perfmodel.fitting.cautions import Measured
from perfmodel.fitting.least_squares import Fit, NonlinearFit, fit_linear, fit_nonlinear, refuse_bad_times, too_few_rows
from perfmodel.fitting.resources import ResourceFit, ResourceModel, fit_resources
from perfmodel.fitting.selection import weighted_median
from perfmodel.fitting.types import Floats, Rows
from perfmodel.fitting.weights_file import FitOptions, FittedWeights, geometric_mean_error, relative_errors
from perfmodel.models.model import Family, bind, known_weights, quantity_of, weight_name
from perfmodel.quantities.case import Case
from perfmodel.store import Measurement, Measurements
from perfmodel.store.measurement import AGREEMENT
from perfmodel.values import grouped

_COLUMNS = ("times", "fitted_times", "row_weights", "private")

@dataclass(frozen=True, eq=False)
class Design:
    """Feature values and times of measured cases.

    The matrix has the shape (n_rows, n_names), with a column for each feature or quantity of `model`. The `model` is
    the run time of the family as an expression. `times` are by the clock of the host [s]. Weights are fitted to
    `fitted_times`, by the clock of the device if all rows have such times. `launch_s` is the difference between the
    clocks, or None. `private` is the private data of a work-item [B]. `known` are the weights that facts of the device
    give.
    """

    model: Expression
    matrix: Floats
    times: Floats
    labels: tuple[str, ...]
    subgroup_size: int
    row_weights: Floats
    known: Mapping[str, float]
    private: Floats
    fitted_times: Floats
    launch_s: float | None

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns, in the order of the expression. For a plain sum the names are sorted."""
        return self.model.features

    def select(self, rows: Rows) -> "Design":
        """Return the design of the rows with these numbers. Columns of zeros are kept."""
        columns: dict[str, Any] = {name: getattr(self, name)[rows] for name in ("matrix", *_COLUMNS)}
        return replace(self, labels=tuple(self.labels[i] for i in rows), **columns)

    def stacked(self, other: "Design", family: Family) -> "Design":
        """Return the rows of two designs of a family, with the columns of both."""
        model, count = bind(family, {*self.names, *other.names}, self.known), len(self.times)
        matrix = np.zeros((count + len(other.times), len(model.features)))
        for part, rows in ((self, slice(None, count)), (other, slice(count, None))):
            columns = [i for i, name in enumerate(model.features) if name in part.names]
            matrix[rows, columns] = part.matrix[:, [part.names.index(model.features[i]) for i in columns]]
        columns_of_both: dict[str, Any] = {
            name: np.concatenate([getattr(self, name), getattr(other, name)]) for name in _COLUMNS
        }
        return replace(
            self, model=model, matrix=matrix, labels=(*self.labels, *other.labels),
            subgroup_size=max(self.subgroup_size, other.subgroup_size), **columns_of_both,
        )  # fmt: skip

    @property
    def measured_range(self) -> Measured:
        """The range of the times, and of the positive values of each column."""
        of_quantities = grouped(
            (quantity_of(name), column[column > 0]) for name, column in zip(self.names, self.matrix.T, strict=True)
        )
        columns = {name: np.concatenate(of_launches) for name, of_launches in of_quantities.items()}
        return Measured(
            seconds=(float(self.times.min()), float(self.times.max())),
            features={name: (float(c.min()), float(c.max())) for name, c in columns.items() if c.size},
        )


class RowValues(NamedTuple):
    """The nonzero features and quantities of a measured row, and the private data of a work-item [B]."""

    subgroup_size: int
    private_bytes: int
    values: Mapping[str, float]

    @classmethod
    def of(cls, case: Case, family: Family) -> "RowValues":
        """Evaluate a case."""
        values = {name: value for name, value in family.values(case).items() if value != 0}
        return cls(case.counts.subgroup_size, case.counts.launch.private_bytes, values)


def evaluate_rows(measurements: Measurements, family: Family) -> list[RowValues]:
    """Return the values of each row. Raise a StoreError if a row has no counts."""
    counted = [(counts_of(measurements, row), row) for row in measurements]
    facts = measurements.facts
    return [RowValues.of(Case(counts, row.parameters, facts, family.name), family) for counts, row in counted]


Evaluate: TypeAlias = Callable[[Measurements, Family], Sequence[RowValues]]


def build_design(
    measurements: Measurements, family: Family, options: FitOptions | None = None, evaluate: Evaluate = evaluate_rows
) -> Design:
    """Return the design of the measurements, in their order. The function `evaluate` returns the values of each row.

    Raise a FitError for times that are not positive and finite. Raise a StoreError for rows without counts. Raise a
    FactsError if the family needs an unknown fact and the options do not allow the fit of this fact.
    """
    asked, rows = options or FitOptions(), tuple(measurements)
    labels = tuple(label(row) for row in rows)
    times = np.array([row.seconds for row in rows], dtype=np.float64)
    refuse_bad_times(times, labels)
    evaluated = evaluate(measurements, family)
    exercised = {name for row in evaluated for name in row.values if name not in family.units}
    known = known_weights(family, measurements.facts, asked.fit_facts)
    model = bind(family, exercised, known)
    matrix = np.array([[row.values.get(name, 0.0) for name in model.features] for row in evaluated], dtype=np.float64)
    weights = agreement_weights(measurements)
    if family.resources:  # a kernel of n rows counts as sqrt(n) rows
        of_kernel = Counter(row.kernel for row in rows)
        weights = weights / np.sqrt([of_kernel[row.kernel] for row in rows])
    on_device = np.array([row.seconds_by("device") for row in rows], dtype=np.float64)
    launch_s = launch_of(times, on_device) if asked.clock == "device" else None
    return Design(
        model, matrix.reshape(len(rows), len(model.features)), times, labels,
        subgroup_size=max((row.subgroup_size for row in evaluated), default=0), row_weights=weights, known=known,
        private=np.array([row.private_bytes for row in evaluated], dtype=np.float64),
        fitted_times=times if launch_s is None else on_device, launch_s=launch_s,
    )  # fmt: skip


def agreement_weights(measurements: Measurements) -> Floats:
    r"""Return each row's weight in the fit: :math:`(\alpha/d)^2` if its visits differ by :math:`d > \alpha`, else 1."""
    differences = np.array([row.disagreement for row in measurements], dtype=np.float64)
    return np.asarray((AGREEMENT / np.fmax(differences, AGREEMENT)) ** 2)


def launch_of(host: Floats, device: Floats) -> float | None:
    r"""Return the launch [s] that the host's clock adds to the device's time, or None if a row lacks a device's time.

    The launch is the :math:`o \ge 0` that minimises :math:`\sum_j |t_j - d_j - o| / t_j`. A row has the time
    :math:`t_j` by the host's clock and :math:`d_j` by the device's, shape (n_rows,). The minimum is the median,
    weighted by :math:`1/t_j`.
    """
    if not len(device) or not np.all(device > 0):
        return None
    return max(weighted_median(host - device, 1 / host), 0.0)


def label(row: Measurement) -> str:
    """Return the kernel, variant and sizes of a measurement in one line."""
    parts = [f"{name}={value}" for name, value in (*row.variant.items(), *row.parameters.items())]
    return " ".join([row.kernel, *parts])


def counts_of(measurements: Measurements, row: Measurement) -> KernelCounts:
    """Return the counts of a measured configuration. Raise a StoreError if the store does not hold the counts."""
    counts = measurements.counts.get(row.counts_hash)
    if counts is None:
        problem = f"the counts of '{label(row)}' (hash {row.counts_hash:.12}) are not in the store"
        raise StoreError(problem, "keep counts.jsonl next to measurements.jsonl, or measure again")
    return counts


_GIVEN: tuple[weights_file.Mark, ...] = ("given",)
SHARPNESS = "w_sharpness"
DEFAULT_SHARPNESS = 3.0  # of the maximum of resources, if neither a fact nor cross-validation gives it


@dataclass(frozen=True, eq=False)
class DesignFit:
    """Weights, shape (n_weights,), with standard errors and marks. Unknown standard errors are infinite.

    `confounded` are groups of weights that the rows cannot distinguish. Predictions add `launch_s` [s] to the fitted
    time.
    """

    names: tuple[str, ...]
    coefficients: Floats
    errors: Floats
    marks: tuple[tuple[weights_file.Mark, ...], ...]
    confounded: tuple[tuple[str, ...], ...]
    fit: Fit
    launch_s: float = 0.0

    def predict(self, table: Design) -> Floats:
        """Return the seconds of a design's rows by the host's clock, shape (n_rows,)."""
        return self.fit.predict(table.matrix) + self.launch_s

    def by_weight(self, table: Design) -> Floats:
        r"""Return the seconds due to each weight of the design's model, :math:`w \, \partial T / \partial w`."""
        known = dict(zip(self.names, self.coefficients, strict=True))  # a sum's weights have their features' names
        values = np.array([known[w] if w in known else known[w.removeprefix("w_")] for w in table.model.weights])
        if isinstance(self.fit, ResourceFit):
            parts = dict(zip(table.names, self.fit.by_weight(table.matrix).T, strict=True))
            others = np.zeros(len(table.matrix))  # of the sharpness
            return np.column_stack([parts.get(weight.removeprefix("w_"), others) for weight in table.model.weights])
        if isinstance(self.fit, NonlinearFit):
            columns = dict(zip(table.names, table.matrix.T, strict=True))
            return np.asarray(table.model.jacobian(columns, values) * values)
        return np.asarray(table.matrix * values)


_controller = cache(ThreadpoolController)


def single_threaded() -> AbstractContextManager[Any]:
    """Return a context in which BLAS and LAPACK use one thread. More threads change the last bits of sums."""
    limits: AbstractContextManager[Any] = _controller().limit(limits=1, user_api="blas")
    return limits


def fit_to_design(table: Design, family: Family, options: FitOptions | None = None) -> DesignFit:
    """Fit a family to a design. Raise a FitError for fewer rows than weights."""
    with single_threaded():
        return replace(_fitted(table, family, options or FitOptions()), launch_s=table.launch_s or 0.0)


def _fitted(table: Design, family: Family, options: FitOptions) -> DesignFit:
    if family.plain_sum:
        return _fit_linear(table, options)
    if family.resources:
        return _fit_resources(table, family)
    if table.known and not table.model.weights and len(table.times):
        return _with_given((), NonlinearFit(model=table.model, degrees_of_freedom=len(table.times)), table.known)
    return _fit_nonlinear(table, family, options)


def _with_given(names: Sequence[str], fit: Fit, given: Mapping[str, float]) -> DesignFit:
    groups = tuple(tuple(names[i] for i in group) for group in fit.confounded)
    return DesignFit(
        (*names, *given), np.append(fit.weights, [*given.values()]), np.append(fit.standard_errors, [0.0] * len(given)),
        (*fit.marks, *[_GIVEN] * len(given)), groups, fit,
    )  # fmt: skip


def _fit_linear(table: Design, options: FitOptions) -> DesignFit:
    if not table.names or not len(table.times):
        raise too_few_rows(len(table.times), table.names)
    fit = fit_linear(table.matrix, table.fitted_times, table.row_weights, options.nonnegative, table.names)
    return _with_given(table.names, fit, {})


def _fit_resources(table: Design, family: Family) -> DesignFit:
    if len(table.times) < 2:
        raise too_few_rows(len(table.times), table.model.weights)
    if SHARPNESS not in {weight.name for weight in family.weights}:
        problem = f"the family '{family.name}' has resources and no weight {SHARPNESS}"
        raise FamilyError(problem, f"add Weight('{SHARPNESS}', '') and use it in smooth_max; see docs/add-a-family.md")
    numbers = {name: k for k, name in enumerate(table.names)}
    known = {SHARPNESS: DEFAULT_SHARPNESS, **table.known}
    columns = {name: tuple(numbers[part] for part in parts) for name, parts in family.resources.items()}
    given = {numbers[name]: known[f"w_{name}"] for name in table.names if f"w_{name}" in known}
    fit = fit_resources(
        ResourceModel(columns, known[SHARPNESS], given), table.matrix, table.fitted_times, table.row_weights
    )
    marks = tuple(_GIVEN if k in given else each for k, each in enumerate(fit.marks))
    unused = {name: value for name, value in known.items() if name.removeprefix("w_") not in numbers}
    return _with_given([f"w_{name}" for name in table.names], replace(fit, marks=marks), unused)


def _fit_nonlinear(table: Design, family: Family, options: FitOptions) -> DesignFit:
    model = table.model
    if not 0 < len(model.weights) <= len(table.times):
        raise too_few_rows(len(table.times), model.weights)
    bounds = {weight.name: (weight.lower, weight.upper) for weight in family.weights}
    start = {weight.name: weight.start for weight in family.weights if weight.start is not None}
    fit = fit_nonlinear(
        model, table.matrix, table.fitted_times, table.row_weights, bounds, start, options.starts, options.seed
    )
    return _with_given([weight_name(family, name) for name in model.weights], fit, table.known)


def fitted_weights(measurements: Measurements, family: Family, options: FitOptions, table: Design) -> FittedWeights:
    """Fit a family to the design of the measurements, and return the content of a weights file without intervals."""
    if measurements.mixture:
        warnings.warn(measurements.mixture, PerfModelWarning, stacklevel=3)
    fitted = fit_to_design(table, family, options)
    errors = relative_errors(fitted.predict(table), table.times)
    facts = None if family.plain_sum else measurements.facts
    return FittedWeights(
        family=family.name, definition=family.definition, definition_sha256=family.sha256,
        facts=facts.to_json() if facts else None, device=measurements.device, subgroup_size=table.subgroup_size,
        options=options, rows=len(table.times), measurements=rows_hash(measurements), rank=fitted.fit.rank,
        condition=fitted.fit.condition, degrees_of_freedom=fitted.fit.degrees_of_freedom,
        converged=fitted.fit.converged, launch_s=table.launch_s, notes=(*measurements.notes, *_notes(fitted)),
        features=tuple(sorted(fitted.names)), weights=_weights(fitted, family),
        residuals=weights_file.Residuals(
            geometric_mean=geometric_mean_error(errors), median=float(np.median(errors)), largest=float(errors.max())
        ),
    )  # fmt: skip


def rows_hash(measurements: Measurements) -> str:
    """Return a SHA-256 of kernel, variant, sizes, hash of counts and time of all rows. Their order does not matter."""
    lines = (f"{label(row)} {row.counts_hash} {row.seconds!r}" for row in measurements)
    return hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()


def _weights(fit: DesignFit, family: Family) -> dict[str, weights_file.FittedWeight]:
    rows = zip(fit.names, fit.coefficients, fit.errors, fit.marks, strict=True)
    return {name: weights_file.FittedWeight(
        value=float(value), unit=family.weight_unit(name),
        standard_error=float(error) if math.isfinite(error) else None, marks=marks,
    ) for name, value, error, marks in sorted(rows, key=lambda row: row[0])}  # fmt: skip


def _notes(fit: DesignFit) -> tuple[str, ...]:
    notes = [f"not determined separately, only their common time: {', '.join(group)}" for group in fit.confounded]
    if not fit.fit.converged:
        notes.append("the fit did not converge; these are the best weights found")
    return tuple(notes)
