"""The linear least-squares core: column scaling, orthogonal factorisations, what is determined."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.linalg import qr, solve_triangular
from scipy.optimize import nnls
from scipy.sparse.csgraph import connected_components

Array = npt.NDArray[np.float64]


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
    """

    x: Array
    rank: int
    condition: float
    confounded: tuple[tuple[int, ...], ...]


def least_squares(matrix: Array, rhs: Array, nonnegative: bool = False) -> Solution:
    r"""Minimise :math:`\|A x - b\|_2` with columns scaled to unit length.

    Parameters
    ----------
    matrix
        :math:`A`, shape (m, n), with no column that is zero throughout.
    rhs
        :math:`b`, shape (m,).
    nonnegative
        Whether :math:`x \ge 0` is demanded.

    Returns
    -------
    Solution
        With full rank by QR with column pivoting. Where the rank falls short, the solution of
        least norm in the scaled columns.

    Examples
    --------
    >>> solution = least_squares(np.array([[1., 2.], [2., 4.], [1., 2.]]), np.array([2., 4., 2.]))
    >>> solution.rank, solution.confounded
    (1, ((0, 1),))
    """
    scale = np.linalg.norm(matrix, axis=0)
    scaled = matrix / scale
    _, sigma, rows = np.linalg.svd(scaled, full_matrices=True)
    tolerance = max(matrix.shape) * np.finfo(np.float64).eps
    rank = int(np.sum(sigma > tolerance * sigma[0]))
    if nonnegative:
        x = nnls(scaled, rhs)[0]
    elif rank == matrix.shape[1]:
        x = _by_qr(scaled, rhs)
    else:
        x = np.linalg.lstsq(scaled, rhs, rcond=tolerance)[0]
    return Solution(
        x / scale, rank, float(sigma[0] / sigma[rank - 1]), _null_groups(rows[rank:].T)
    )


def _by_qr(matrix: Array, rhs: Array) -> Array:
    q, r, pivots = qr(matrix, mode="economic", pivoting=True)
    x = np.empty(matrix.shape[1])
    x[pivots] = solve_triangular(r, q.T @ rhs)
    return x


def _null_groups(null_space: Array) -> tuple[tuple[int, ...], ...]:
    """Return the groups of columns that share a direction of the null space, shape (n, k)."""
    projector = null_space @ null_space.T
    linked = np.abs(projector) > 1e-8
    _, labels = connected_components(linked, directed=False)
    involved = np.diagonal(linked)
    groups: dict[int, list[int]] = {}
    for column in np.flatnonzero(involved):
        groups.setdefault(int(labels[column]), []).append(int(column))
    return tuple(tuple(group) for group in groups.values())
