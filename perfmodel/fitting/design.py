"""From measurements to the matrix that a family is fitted to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from perfmodel import features
from perfmodel.errors import BadTimesError, MissingCountsError
from perfmodel.expressions.expression import Expression
from perfmodel.models import Family
from perfmodel.models.binding import bind, known_weights
from perfmodel.quantities.case import Case

if TYPE_CHECKING:
    from perfmodel.counts import KernelCounts
    from perfmodel.store import Measurement, Measurements


@dataclass(frozen=True, eq=False)
class Design:
    """Feature values and times of measured cases.

    Parameters
    ----------
    names
        Features that the family takes and that some case exercises, sorted; for a family with an
        expression its features and quantities in the expression's order.
    matrix
        Their values, shape (n_rows, n_names), in each feature's unit.
    times
        Measured times [s], shape (n_rows,).
    labels
        What each row is, as in ``copy n=1024``.
    subgroup_size
        Work-items in a sub-group, for which the kernels were counted; 0 without any row.
    model
        The family's expression; None where it is the sum of the columns times their weights.
    known
        Weights in it that the device's facts give.
    """

    names: tuple[str, ...]
    matrix: npt.NDArray[np.float64]
    times: npt.NDArray[np.float64]
    labels: tuple[str, ...]
    subgroup_size: int
    model: Expression | None = None
    known: Mapping[str, float] | None = None


def design(measurements: Measurements, family: Family, fit_facts: bool = False) -> Design:
    """Return the design of the measurements that succeeded, in their order.

    Raises
    ------
    BadTimesError
        If a time is not positive and finite; it names the kernels.
    MissingCountsError
        If a measurement's counts are not there.
    MissingFactError
        If the family needs a fact of the device that nobody gave. With `fit_facts` a weight that
        the fact would give is fitted instead.
    ExpressionError
        If the family's expression cannot be used.
    """
    rows = tuple(measurements)
    labels = tuple(label(row) for row in rows)
    times = np.array([row.seconds for row in rows], dtype=np.float64)
    bad = np.flatnonzero(~(np.isfinite(times) & (times > 0)))
    if bad.size:
        raise BadTimesError(
            tuple(bad.tolist()), tuple(times[bad].tolist()), tuple(labels[i] for i in bad)
        )
    counted = [_counts(measurements, row) for row in rows]
    values = [
        features.evaluate(counts, row.parameters)
        for counts, row in zip(counted, rows, strict=True)
    ]
    exercised = {name for row in values for name, value in row.items() if value != 0}
    names, model, known = family.select(exercised), None, None
    if family.expression:
        facts = getattr(measurements, "facts", None)
        known = known_weights(family, facts, fit_facts)
        model = bind(family, exercised, known)
        names = model.features
        cases = (Case(c, row.parameters, facts, family.name) for c, row in zip(counted, rows, strict=True))
        own: list[Mapping[str, Any]] = [family.quantities(case) for case in cases]
        values = [{**row, **quantities} for row, quantities in zip(values, own, strict=True)]
    matrix = np.array([[row.get(name, 0.0) for name in names] for row in values], dtype=np.float64)
    subgroup_size = max((counts.subgroup_size for counts in counted), default=0)
    return Design(
        names, matrix.reshape(len(rows), len(names)), times, labels, subgroup_size, model, known
    )


def _counts(measurements: Measurements, row: Measurement) -> KernelCounts:
    counts = measurements.counts.get(row.counts_hash)
    if counts is None:
        raise MissingCountsError(label(row), row.counts_hash)
    return counts


def label(row: Measurement) -> str:
    """Return a measurement's kernel, variant and sizes in one line."""
    parts = [f"{name}={value}" for name, value in (*row.variant.items(), *row.parameters.items())]
    return " ".join([row.kernel, *parts])
