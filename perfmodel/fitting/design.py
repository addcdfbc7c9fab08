"""From measurements to the matrix that a family is fitted to, and how much each row counts."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from statistics import median
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from perfmodel.errors import BadTimesError, MissingCountsError
from perfmodel.expressions import Expression
from perfmodel.fitting.cautions import Measured
from perfmodel.fitting.linear import NORMAL
from perfmodel.fitting.weights_file import FitOptions
from perfmodel.models.model import Family, bind, known_weights
from perfmodel.quantities.case import Case
from perfmodel.store.measurement import AGREEMENT

if TYPE_CHECKING:
    from perfmodel.counts import KernelCounts
    from perfmodel.store import Measurement, Measurements

Floats: TypeAlias = npt.NDArray[np.float64]
Rows: TypeAlias = npt.NDArray[np.int64]

MODEL_ERROR = 0.05
"""Relative error that a model makes without any noise: less noise than this hardly matters."""


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
    times = np.array([row.seconds for row in rows], dtype=np.float64)
    bad = np.flatnonzero(~(np.isfinite(times) & (times > 0)))
    if bad.size:
        raise BadTimesError(tuple(bad.tolist()), tuple(times[bad].tolist()), tuple(labels[i] for i in bad))
    counted = [counts_of(measurements, row) for row in rows]
    facts = measurements.facts
    cases = [Case(c, row.parameters, facts, family.name) for c, row in zip(counted, rows, strict=True)]
    exercised = {name for case in cases for name, value in case.features.items() if value != 0}
    known = known_weights(family, facts, asked.fit_facts)
    model = bind(family, exercised, known)
    values = map(family.values, cases)
    matrix = np.array([[row.get(name, 0.0) for name in model.features] for row in values], dtype=np.float64)
    subgroup_size = max((counts.subgroup_size for counts in counted), default=0)
    weights = (noise_weights if asked.weighting == "noise" else agreement_weights)(measurements)
    if family.resources:  # a kernel of n rows counts as sqrt(n) rows
        of_kernel = Counter(row.kernel for row in rows)
        weights = weights / np.sqrt([of_kernel[row.kernel] for row in rows])
    return Design(model, matrix.reshape(len(rows), len(model.features)), times, labels, subgroup_size, weights, known)


def stack(first: Design, second: Design, family: Family) -> Design:
    """Return the rows of two designs of a family, one after the other, with the columns of both."""
    model, count = bind(family, {*first.names, *second.names}, first.known), len(first.times)
    matrix = np.zeros((count + len(second.times), len(model.features)))
    for part, rows in ((first, slice(None, count)), (second, slice(count, None))):
        columns = [place for place, name in enumerate(model.features) if name in part.names]
        matrix[rows, columns] = part.matrix[:, [part.names.index(model.features[i]) for i in columns]]
    return replace(
        first, model=model, matrix=matrix, times=np.concatenate([first.times, second.times]),
        labels=(*first.labels, *second.labels), subgroup_size=max(first.subgroup_size, second.subgroup_size),
        row_weights=np.concatenate([first.row_weights, second.row_weights]),
    )  # fmt: skip


def measured_range(table: Design) -> Measured:
    """Return the range of the times and of the values above zero of a design's rows."""
    columns = {name: column[column > 0] for name, column in zip(table.names, table.matrix.T, strict=True)}
    return Measured(
        seconds=(float(table.times.min()), float(table.times.max())),
        features={name: (float(c.min()), float(c.max())) for name, c in columns.items() if c.size},
    )


def label(row: Measurement) -> str:
    """Return a measurement's kernel, variant and sizes in one line."""
    parts = [f"{name}={value}" for name, value in (*row.variant.items(), *row.parameters.items())]
    return " ".join([row.kernel, *parts])


def counts_of(measurements: Measurements, row: Measurement) -> KernelCounts:
    """Return the counts of a measured configuration; raise MissingCountsError where the store does not hold them."""
    counts = measurements.counts.get(row.counts_hash)
    if counts is None:
        raise MissingCountsError(label(row), row.counts_hash)
    return counts


def agreement_weights(measurements: Measurements) -> Floats:
    r"""Return a weight for each measurement: 1, or :math:`(\alpha / d_j)^2` where its visits disagree.

    :math:`d_j` is how far the two lowest visits differ and :math:`\alpha` what they may (:data:`AGREEMENT`).
    """
    apart = np.array([row.disagreement for row in measurements], dtype=np.float64)
    return np.asarray((AGREEMENT / np.fmax(apart, AGREEMENT)) ** 2)


def noise_weights(measurements: Measurements, floor: float = MODEL_ERROR) -> Floats:
    r"""Return a weight for each measurement, :math:`1 / (\epsilon^2 + \sigma_j^2)`, with the noise of its time.

    :math:`\epsilon` is the relative error of the model itself (`floor`), above zero. Without it the fit would depend on
    the quietest kernels alone.
    """
    noise = np.array([relative_noise(row) for row in measurements], dtype=np.float64)
    return np.asarray(1 / (floor**2 + noise**2))


def relative_noise(row: Measurement) -> float:
    """Return the standard deviation of a row's time, over the time.

    For a row of several visits it is what its two lowest visits' difference tells: two draws from a normal distribution
    differ by 2/sqrt(pi) of its standard deviation on average. Otherwise it is that of its runs, from their median
    deviation; 1 for one run.
    """
    if not math.isnan(row.disagreement):
        return math.sqrt(math.pi) / 2 * row.disagreement
    samples = row.kept_s
    if len(samples) < 2:
        return 1.0
    middle = median(samples)
    return NORMAL * median(abs(sample - middle) for sample in samples) / row.seconds
