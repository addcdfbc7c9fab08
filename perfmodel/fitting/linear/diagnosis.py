"""How well each weight is determined: standard errors, intervals, and marks in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from perfmodel.fitting.linear.least_squares import Array

Mark: TypeAlias = Literal["barely", "one row", "at bound", "merged", "undetermined", "given"]

MEANING: dict[Mark, str] = {
    "barely": "its standard error is larger than itself",
    "one row": "more than 90 % of what is known of it comes from one measurement",
    "at bound": "it lies at its bound: zero, where weights below zero are ruled out",
    "merged": "it shares what features that always occur together cost",
    "given": "a fact of the device, not fitted",
    "undetermined": "the measurements do not tell it from others; of all that fit the least is taken",
}
"""What each mark says of a weight."""

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
    errors: Array = sigma * np.linalg.norm(inverse, axis=1)
    return errors


def intervals(coefficients: Array, errors: Array, freedom: float, level: float = 0.9) -> Array:
    r"""Return :math:`w_i \pm t_\nu s_i` with Student's quantile at the level, shape (n, 2)."""
    if freedom < 0.5:
        return np.column_stack([np.full_like(coefficients, -np.inf), np.full_like(coefficients, np.inf)])
    from scipy.special import stdtrit

    half = stdtrit(freedom, (1 + level) / 2) * errors
    return np.column_stack([coefficients - half, coefficients + half])


def largest_shares(inverse: Array) -> Array:
    r"""Return for each weight the share of its most important row in what is known of it.

    .. math:: \max_j P_{ij}^2 / \sum_k P_{ik}^2

    It is the partial leverage: the share of row j in the length of column i less its projection on
    all other columns.
    """
    squares = inverse**2
    total = squares.sum(axis=1)
    shares: Array = squares.max(axis=1, initial=0.0) / np.where(total > 0, total, 1.0)
    return shares


def marks(
    coefficients: Array,
    errors: Array,
    inverse: Array,
    held: npt.NDArray[np.bool_],
    merged: npt.NDArray[np.bool_],
    undetermined: npt.NDArray[np.bool_],
) -> tuple[tuple[Mark, ...], ...]:
    """Return for each weight its marks (:data:`MEANING`)."""
    barely = np.isfinite(errors) & (errors > np.abs(coefficients)) & ~held
    flags: dict[Mark, npt.NDArray[np.bool_]] = {
        "undetermined": undetermined,
        "merged": merged,
        "at bound": held,
        "barely": barely,
        "one row": largest_shares(inverse) > ONE_ROW,
    }
    return tuple(tuple(mark for mark, rows in flags.items() if rows[i]) for i in range(len(coefficients)))
