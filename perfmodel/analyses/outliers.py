"""Predictions whose error is far from that of the others."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from perfmodel.compare import Comparison

FENCE = 1.5
"""An outlier is this many interquartile ranges outside of the quartiles (Tukey, *Exploratory Data Analysis*, 1977)."""


def outliers_of(rows: Iterable[Comparison], between: tuple[float, float] | None = None) -> tuple[Comparison, ...]:
    r"""Return the cases whose error is far from that of the others, the worst first.

    Of the errors :math:`\log(p/t)` these are the ones outside of `between`, by default outside of :func:`fences`. A
    prediction that is not above zero is an outlier too.
    """
    every = tuple(rows)
    low, high = fences(every) if between is None else between
    errors = [(row, log_error(row)) for row in every if row.predicted is not None]
    found = [(row, abs(error)) for row, error in errors if not low <= error <= high]
    return tuple(row for row, _ in sorted(found, key=lambda pair: -pair[1]))


def fences(rows: Iterable[Comparison]) -> tuple[float, float]:
    r"""Return the errors :math:`\log(p/t)` beyond which a case is an outlier.

    They are :data:`FENCE` interquartile ranges below the first and above the third quartile of the errors.
    """
    known = [error for row in rows if row.predicted is not None and math.isfinite(error := log_error(row))]
    first, third = np.quantile(known, (0.25, 0.75)) if known else (0.0, 0.0)
    reach = FENCE * (third - first)
    return float(first - reach), float(third + reach)


def log_error(row: Comparison) -> float:
    r"""Return :math:`\log(p/t)` of a case that is predicted; infinite where the prediction is not above zero."""
    return math.log(row.predicted / row.measured) if row.predicted is not None and row.predicted > 0 else math.inf
