"""Predictions whose error is far from that of the others."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from perfmodel.compare import Comparison

FENCE = 1.5
"""An outlier is this many interquartile ranges outside of the quartiles (Tukey, *Exploratory Data Analysis*, 1977)."""


def outliers_of(rows: Iterable[Comparison]) -> tuple[Comparison, ...]:
    r"""Return the cases whose error is far from that of the others, the worst first.

    Of the errors :math:`\log(p/t)` these are the ones more than :data:`FENCE` interquartile ranges below the first or
    above the third quartile. A prediction that is not above zero is an outlier too.
    """
    errors = [
        (row, math.log(row.predicted / row.measured) if row.predicted > 0 else math.inf)
        for row in rows if row.predicted is not None
    ]  # fmt: skip
    known = [error for _, error in errors if math.isfinite(error)]
    first, third = np.quantile(known, (0.25, 0.75)) if known else (0.0, 0.0)
    reach = FENCE * (third - first)
    found = [(row, abs(error)) for row, error in errors if not first - reach <= error <= third + reach]
    return tuple(row for row, _ in sorted(found, key=lambda pair: -pair[1]))
