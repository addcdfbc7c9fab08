"""Linear least squares of checked rows: orthogonal factorisations, and how well each weight is determined."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.linalg import qr, solve_triangular
from scipy.optimize import nnls
from scipy.sparse.csgraph import connected_components
from sklearn.utils.validation import _check_sample_weight, validate_data

from perfmodel.errors import BadFeatureValuesError, BadTimesError
from perfmodel.fitting.weights_file import Mark

Array: TypeAlias = npt.NDArray[np.float64]
Flags: TypeAlias = npt.NDArray[np.bool_]
#: Groups of columns, by their places, each sorted.
Groups: TypeAlias = tuple[tuple[int, ...], ...]

REFINEMENTS = 5
"""Most steps of iterative refinement; it ends before where a step no longer helps."""


@dataclass(frozen=True, eq=False)
class Solution:
    """A least-squares solution and how well it is determined.

    Parameters
    ----------
    x
        The solution, shape (n,).
    rank
        Numerical rank of the column-scaled matrix.
    condition
        Ratio of its largest to its smallest singular value that counts.
    confounded
        Groups of columns that the rows cannot tell apart, each sorted.
    inverse
        Derivative of the solution by the right-hand side, shape (n, m): its rows give the standard errors and say which
        rows of the matrix a number rests on. Of a number that is held at zero it is the derivative that it would have
        if it alone were let go.
    free
        Whether a number is not held at zero, shape (n,).
    freedom
        Degrees of freedom that are left: rows less the trace of the matrix that makes fitted values of measured ones.
    """

    x: Array
    rank: int
    condition: float
    confounded: Groups
    inverse: Array
    free: Flags
    freedom: float


def solve_least_squares(matrix: Array, rhs: Array, nonnegative: bool = False, ridge: float = 0.0) -> Solution:
    r"""Minimise :math:`\|A x - b\|_2^2 + \rho \|D x\|_2^2`, with :math:`D` the lengths of A's columns.

    Parameters
    ----------
    matrix
        :math:`A`, shape (m, n), with no column that is zero throughout.
    rhs
        :math:`b`, shape (m,).
    nonnegative
        Whether :math:`x \ge 0` is demanded.
    ridge
        :math:`\rho \ge 0`, a pure number: 0.01 lengthens each column's square by 1 %.

    Returns
    -------
    Solution
        With full rank by QR with column pivoting of the columns scaled to unit length and iterative refinement of
        solution and residual together (Björck, *Iterative refinement of linear least squares solutions*, BIT 7, 1967),
        with residuals in extended precision where NumPy has it. Where the rank falls short, the solution of least norm
        in the scaled columns.

    Examples
    --------
    >>> solution = solve_least_squares(np.array([[1., 2.], [2., 4.], [1., 2.]]), np.array([2., 4., 2.]))
    >>> solution.rank, solution.confounded
    (1, ((0, 1),))
    """
    rows, columns = matrix.shape
    # Powers of two, so that scaling rounds nothing.
    scale = np.exp2(np.round(np.log2(np.linalg.norm(matrix, axis=0))))
    scaled = matrix / scale
    _, sigma, right = np.linalg.svd(scaled, full_matrices=rows < columns)
    rank = int(np.sum(sigma > max(matrix.shape) * np.finfo(np.float64).eps * sigma[0]))
    damped, target = _with_ridge(scaled, rhs, ridge)
    free = nnls(damped, target)[0] > 0 if nonnegative else np.ones(columns, dtype=np.bool_)
    x, inverse = np.zeros(columns), np.zeros((columns, len(target)))
    if free.any():
        x[free], inverse[free] = _unconstrained(damped[:, free], target)
    if nonnegative:
        x = np.maximum(x, 0)
    inverse = inverse[:, :rows]
    freedom = rows - float(np.sum(scaled.T * inverse))
    if not free.all():
        inverse[~free] = _if_let_go(scaled[:, ~free], scaled[:, free], inverse[free])
    return Solution(
        x / scale, rank, float(sigma[0] / sigma[rank - 1]), _null_groups(right[rank:].T),
        inverse / scale[:, None], free, freedom,
    )  # fmt: skip


def plain_solution(matrix: Array, rhs: Array, nonnegative: bool, ridge: float) -> Array:
    """Return the solution of :func:`solve_least_squares` without refinement, and nothing beside it."""
    scale = np.linalg.norm(matrix, axis=0)
    damped, target = _with_ridge(matrix / scale, rhs, ridge)
    if nonnegative:
        return np.asarray(nnls(damped, target)[0] / scale)
    tolerance = max(matrix.shape) * np.finfo(np.float64).eps
    return np.asarray(np.linalg.lstsq(damped, target, rcond=tolerance)[0] / scale)


def proportional_groups(matrix: Array) -> Groups:
    """Return the groups of columns that are positive multiples of one another.

    Examples
    --------
    >>> proportional_groups(np.array([[1.0, 2.0, 3.0], [2.0, 1.0, 6.0]]))
    ((0, 2),)
    """
    unit = matrix / np.linalg.norm(matrix, axis=0)
    near = np.linalg.norm(unit[:, :, None] - unit[:, None, :], axis=0) < 1e-10
    labels = connected_components(near, directed=False)[1]
    groups = (tuple(np.flatnonzero(labels == label).tolist()) for label in np.unique(labels))
    return tuple(sorted(group for group in groups if len(group) > 1))


def _with_ridge(scaled: Array, rhs: Array, ridge: float) -> tuple[Array, Array]:
    if not ridge:
        return scaled, rhs
    lengths = np.linalg.norm(scaled, axis=0)
    damped = np.vstack([scaled, np.sqrt(ridge) * np.diag(lengths)])
    return damped, np.concatenate([rhs, np.zeros(lengths.size)])


def _unconstrained(matrix: Array, rhs: Array) -> tuple[Array, Array]:
    """Return the solution and the pseudo-inverse, for columns of about unit length."""
    tolerance = max(matrix.shape) * np.finfo(np.float64).eps
    if np.linalg.matrix_rank(matrix, rtol=tolerance) < matrix.shape[1]:
        lengths = np.linalg.norm(matrix, axis=0)
        inverse = np.linalg.pinv(matrix / lengths, rcond=tolerance) / lengths[:, None]
        return inverse @ rhs, inverse
    q, r, pivots = qr(matrix, mode="economic", pivoting=True)
    order = np.argsort(pivots)
    x = solve_triangular(r, q.T @ rhs)
    x = _refined(matrix[:, pivots], rhs, q, r, x)
    return x[order], solve_triangular(r, q.T)[order]


def _refined(matrix: Array, rhs: Array, q: Array, r: Array, x: Array) -> Array:
    long_matrix, long_rhs = matrix.astype(np.longdouble), rhs.astype(np.longdouble)
    best = x.astype(np.longdouble)
    residual = long_rhs - long_matrix @ best
    last = np.inf
    for _ in range(REFINEMENTS):
        gap = (long_rhs - residual - long_matrix @ best).astype(np.float64)
        slope = -(long_matrix.T @ residual).astype(np.float64)
        inner = q.T @ gap - solve_triangular(r, slope, trans="T")
        step = solve_triangular(r, inner)
        size = float(np.max(np.abs(step)))
        if not size < last / 2:
            break
        best, residual, last = best + step, residual + (gap - q @ inner), size
    return np.asarray(best.astype(np.float64))


def _if_let_go(held: Array, free: Array, inverse: Array) -> Array:
    """Return for each held column the derivative of its number if it were let go alone."""
    rest = held - free @ (inverse @ held)
    size = np.sum(rest**2, axis=0)
    known = size > 1e-20
    return np.asarray(np.where(known, rest / np.where(known, size, 1.0), 0.0).T)


def _null_groups(null_space: Array) -> Groups:
    """Return the groups of columns that share a direction of the null space, shape (n, k)."""
    projector = null_space @ null_space.T
    linked = np.abs(projector) > 1e-8
    _, labels = connected_components(linked, directed=False)
    involved = np.diagonal(linked)
    groups: dict[int, list[int]] = {}
    for column in np.flatnonzero(involved):
        groups.setdefault(int(labels[column]), []).append(int(column))
    return tuple(tuple(group) for group in groups.values())


# {{{ the rows of a fit

@dataclass(frozen=True, eq=False)
class TrainingRows:
    """Rows that count in a fit, and what each column is called in messages.

    Feature values have the shape (n_rows, n_features). Measured times [s] and the weights of the rows, all above zero
    and 1 on average, have the shape (n_rows,).
    """

    matrix: Array
    times: Array
    weights: Array
    names: tuple[str, ...]


def training_rows(estimator: Any, X: Any, y: Any, sample_weight: Any, positive: bool) -> TrainingRows:  # noqa: N803
    """Check what an estimator's `fit` was given, and set its ``n_features_in_``; rows of weight zero are left out.

    Times at or below zero, and values below zero, are refused where they must be `positive`.
    """
    if positive:
        _check_times(y)
    matrix, times = validate_data(
        estimator, X, y, dtype=np.float64, y_numeric=True, ensure_all_finite=False, ensure_min_samples=0
    )
    names = column_names(estimator)
    good = np.isfinite(matrix)
    if positive:
        good &= matrix >= 0
    rows, columns = np.nonzero(~good)
    if rows.size:
        raise BadFeatureValuesError(tuple(np.unique(rows).tolist()), tuple(names[i] for i in np.unique(columns)))
    times = np.asarray(times, dtype=np.float64)
    weights = np.ones(len(times))
    if sample_weight is not None:
        weights = _check_sample_weight(sample_weight, matrix, dtype=np.float64, ensure_non_negative=True)
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
    given = np.asarray(times)
    if given.dtype.kind not in "biuf":
        return  # no real numbers: scikit-learn's own check says so
    values: npt.NDArray[Any] = given.astype(np.float64)
    bad = np.flatnonzero(~(np.isfinite(values) & (values > 0))) if values.ndim == 1 else np.zeros(0)
    if bad.size:
        raise BadTimesError(tuple(bad.tolist()), tuple(values[bad].tolist()))

# }}}


# {{{ how well weights are determined

ONE_ROW = 0.9
"""Share of one row from which on a weight counts as resting on it alone."""


def standard_errors(inverse: Array, residuals: Array, weights: Array, freedom: float) -> Array:
    r"""Return the standard errors of weights.

    .. math:: s_i = \sigma \|P_i\|_2, \qquad \sigma^2 = \sum_j v_j r_j^2 / \nu

    :math:`P` is the derivative of the weights by the rows' right-hand sides, shape (n, m); :math:`r` and :math:`v`
    are the rows' residuals and weights. Without a degree of freedom :math:`\nu`, the errors are infinite.
    """
    if freedom < 0.5:
        return np.full(len(inverse), np.inf)
    sigma = np.sqrt(np.sum(weights * residuals**2) / freedom)
    return np.asarray(sigma * np.linalg.norm(inverse, axis=1))


def marks_of(
    coefficients: Array, errors: Array, inverse: Array, held: Flags, merged: Flags, undetermined: Flags
) -> tuple[tuple[Mark, ...], ...]:
    r"""Return for each weight its marks (:data:`~perfmodel.fitting.weights_file.MEANING`).

    What is known of weight i comes from row j by its partial leverage, :math:`P_{ij}^2 / \sum_k P_{ik}^2`: the share of
    the row in the length of column i less its projection on all other columns.
    """
    squares = inverse**2
    total = squares.sum(axis=1)
    largest = squares.max(axis=1, initial=0.0) / np.where(total > 0, total, 1.0)
    flags: dict[Mark, Flags] = {
        "undetermined": undetermined,
        "merged": merged,
        "at bound": held,
        "barely": np.isfinite(errors) & (errors > np.abs(coefficients)) & ~held,
        "one row": largest > ONE_ROW,
    }
    return tuple(tuple(mark for mark, rows in flags.items() if rows[i]) for i in range(len(coefficients)))

# }}}
