r"""What is left of a model's error when somebody who knows the answer corrects the price of each variant.

With measured times :math:`t_s` and predicted ones :math:`p_s` of one variant of a kernel at its sizes :math:`s`, the
*oracle factor* is the geometric mean of :math:`t_s / p_s`. What remains after a multiplication with it is the error of
the model's scaling with the size, and the noise of the times: no better price of an operation removes it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from perfmodel.compare.comparison import Comparison
from perfmodel.fitting import geometric_mean_error, relative_errors


def oracle_error(rows: Iterable[Comparison]) -> float:
    """Return the geometric mean of the relative errors that oracle factors leave [1]; NaN of none.

    A variant with one size is left out, since its factor would leave nothing, and so are predictions that are
    withheld or not above zero. Errors below 0.1 % count as 0.1 %.

    Examples
    --------
    Predictions of half the time at every size: one factor corrects them all.

    >>> rows = [Comparison("copy", {"n": n}, 2e-9 * n, 1e-9 * n) for n in (64, 128)]
    >>> round(oracle_error(rows), 6)
    0.001
    """
    variants: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for row in rows:
        if row.predicted is not None and row.predicted > 0:
            variants.setdefault((row.kernel, row.form), []).append((row.predicted, row.measured))
    left = [error for pairs in variants.values() if len(pairs) > 1 for error in _left(pairs)]
    return geometric_mean_error(left) if left else math.nan


def _left(pairs: list[tuple[float, float]]) -> list[float]:
    predicted, measured = np.array(pairs).T
    factor = np.exp(np.mean(np.log(measured / predicted)))
    errors: list[float] = relative_errors(factor * predicted, measured).tolist()
    return errors
