"""What an estimator is given, checked: rows of features, their times and their weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import _check_sample_weight, validate_data

from perfmodel.errors import BadFeatureValuesError, BadTimesError
from perfmodel.fitting.linear.least_squares import Array


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """Rows that count in a fit.

    Parameters
    ----------
    matrix
        Feature values, shape (n_rows, n_features).
    times
        Measured times [s], shape (n_rows,).
    weights
        Weight of each row, all above zero and 1 on average, shape (n_rows,).
    names
        What each column is called in messages.
    """

    matrix: Array
    times: Array
    weights: Array
    names: tuple[str, ...]


def training_rows(estimator: Any, X: Any, y: Any, sample_weight: Any, positive: bool) -> TrainingRows:  # noqa: N803
    """Check what `fit` was given; rows of weight zero are left out.

    Parameters
    ----------
    estimator
        Its ``n_features_in_`` (and ``feature_names_in_``) are set.
    X, y, sample_weight
        As of scikit-learn's ``fit``.
    positive
        Whether times at or below zero and values below zero are refused.
    """
    if positive:
        _check_times(y)
    matrix, times = validate_data(
        estimator, X, y, dtype=np.float64, y_numeric=True, ensure_all_finite=False, ensure_min_samples=0
    )
    names = column_names(estimator)
    _check_values(matrix, names, positive)
    times = np.asarray(times, dtype=np.float64)
    weights = np.ones(len(times))
    if sample_weight is not None:
        weights = _check_sample_weight(
            sample_weight, matrix, dtype=np.float64, ensure_non_negative=True
        )
    counts = weights > 0
    kept = weights[counts]
    return TrainingRows(matrix[counts], times[counts], kept / kept.mean() if kept.size else kept, names)


def column_names(estimator: Any) -> tuple[str, ...]:
    """Return what the columns are called: the estimator's ``names``, a data frame's, or numbers."""
    given = estimator.names
    if given is None:
        given = getattr(estimator, "feature_names_in_", None)
    if given is None:
        given = [f"column {i}" for i in range(estimator.n_features_in_)]
    return tuple(str(name) for name in given)


def _check_times(times: Any) -> None:
    found = np.asarray(times)
    if found.dtype.kind not in "biuf":
        return  # no real numbers: scikit-learn's own check says so
    values: npt.NDArray[Any] = found.astype(np.float64)
    bad = np.flatnonzero(~(np.isfinite(values) & (values > 0))) if values.ndim == 1 else np.zeros(0)
    if bad.size:
        raise BadTimesError(tuple(bad.tolist()), tuple(values[bad].tolist()))


def _check_values(matrix: Array, names: tuple[str, ...], positive: bool) -> None:
    good = np.isfinite(matrix)
    if positive:
        good &= matrix >= 0
    rows, columns = np.nonzero(~good)
    if rows.size:
        raise BadFeatureValuesError(
            tuple(np.unique(rows).tolist()), tuple(names[i] for i in np.unique(columns))
        )
