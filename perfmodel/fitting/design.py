"""From measurements to the matrix that a family is fitted to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from perfmodel.errors import BadTimesError, MissingCountsError
from perfmodel.expressions.expression import Expression
from perfmodel.fitting.noise import agreement_weights, noise_weights
from perfmodel.fitting.options import FitOptions
from perfmodel.models.model import Family, bind, known_weights
from perfmodel.quantities.case import Case

if TYPE_CHECKING:
    from perfmodel.counts import KernelCounts
    from perfmodel.store import Measurement, Measurements

Floats = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Design:
    """Feature values and times of measured cases.

    Parameters
    ----------
    model
        The family's run time as an expression.
    matrix
        Values of the expression's features and quantities, shape (n_rows, n_names), in each one's unit.
    times
        Measured times [s], shape (n_rows,).
    labels
        Text for each row, as in ``copy n=1024``.
    subgroup_size
        Work-items in a sub-group, for which the kernels were counted; 0 without any row.
    row_weights
        How much each row counts in a fit [1], shape (n_rows,).
    known
        Weights of the family that the device's facts give.
    """

    model: Expression
    matrix: Floats
    times: Floats
    labels: tuple[str, ...]
    subgroup_size: int
    row_weights: Floats
    known: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def names(self) -> tuple[str, ...]:
        """Name of each column, in the order of the expression; sorted where it is a plain sum."""
        return self.model.features

    def select(self, rows: Rows) -> Design:
        """Return the rows at some positions; columns that become zero stay."""
        return replace(
            self, matrix=self.matrix[rows], times=self.times[rows], row_weights=self.row_weights[rows],
            labels=tuple(self.labels[i] for i in rows),
        )  # fmt: skip


def build_design(measurements: Measurements, family: Family, options: FitOptions | None = None) -> Design:
    """Return the design of the measurements that succeeded, in their order.

    Raises
    ------
    BadTimesError
        If a time is not positive and finite; it names the kernels.
    MissingCountsError
        If a measurement's counts are not there.
    MissingFactError
        If the family needs an unknown fact of the device, and the options do not say that it is fitted.
    ExpressionError
        If the family's expression cannot be used.
    """
    asked, rows = options or FitOptions(), tuple(measurements)
    labels = tuple(label(row) for row in rows)
    times = _times(rows, labels)
    counted = [counts_of(measurements, row) for row in rows]
    facts = measurements.facts
    cases = [Case(c, row.parameters, facts, family.name) for c, row in zip(counted, rows, strict=True)]
    exercised = {name for case in cases for name, value in case.features.items() if value != 0}
    known = known_weights(family, facts, asked.fit_facts)
    model = bind(family, exercised, known)
    values = map(family.values, cases)
    matrix = np.array([[row.get(name, 0.0) for name in model.features] for row in values], dtype=np.float64)
    return Design(
        model, matrix.reshape(len(rows), len(model.features)), times, labels,
        max((counts.subgroup_size for counts in counted), default=0),
        _row_weights(measurements, family, asked), known,
    )  # fmt: skip


def _row_weights(measurements: Measurements, family: Family, asked: FitOptions) -> Floats:
    """Return how much each row counts; in a family of resources a kernel of n rows counts as sqrt(n) rows."""
    weights = (noise_weights if asked.weighting == "noise" else agreement_weights)(measurements)
    if not family.resources:
        return weights
    rows = Counter(row.kernel for row in measurements)
    return weights / np.sqrt([rows[row.kernel] for row in measurements])


def stack(one: Design, other: Design, family: Family) -> Design:
    """Return the rows of two designs of a family, one after the other, with the columns of both."""
    model = bind(family, {*one.names, *other.names}, one.known)
    matrix = np.zeros((len(one.times) + len(other.times), len(model.features)))
    for part, rows in ((one, slice(None, len(one.times))), (other, slice(len(one.times), None))):
        columns = [place for place, name in enumerate(model.features) if name in part.names]
        matrix[rows, columns] = part.matrix[:, [part.names.index(model.features[i]) for i in columns]]
    return replace(
        one,
        model=model,
        matrix=matrix,
        times=np.concatenate([one.times, other.times]),
        labels=(*one.labels, *other.labels),
        subgroup_size=max(one.subgroup_size, other.subgroup_size),
        row_weights=np.concatenate([one.row_weights, other.row_weights]),
    )


def label(row: Measurement) -> str:
    """Return a measurement's kernel, variant and sizes in one line."""
    parts = [f"{name}={value}" for name, value in (*row.variant.items(), *row.parameters.items())]
    return " ".join([row.kernel, *parts])


def _times(rows: tuple[Measurement, ...], labels: tuple[str, ...]) -> Floats:
    times = np.array([row.seconds for row in rows], dtype=np.float64)
    bad = np.flatnonzero(~(np.isfinite(times) & (times > 0)))
    if bad.size:
        raise BadTimesError(tuple(bad.tolist()), tuple(times[bad].tolist()), tuple(labels[i] for i in bad))
    return times


def counts_of(measurements: Measurements, row: Measurement) -> KernelCounts:
    """Return the counts of a measured configuration; raise MissingCountsError where the store does not hold them."""
    counts = measurements.counts.get(row.counts_hash)
    if counts is None:
        raise MissingCountsError(label(row), row.counts_hash)
    return counts
