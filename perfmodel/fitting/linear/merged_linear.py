"""A linear fit of checked rows with all its options, and what is known of its weights."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from perfmodel.errors import ConfoundedFeaturesError, TooFewRowsError
from perfmodel.fitting.linear import diagnosis
from perfmodel.fitting.linear.least_squares import (
    Array,
    Solution,
    plain_solution,
    proportional_groups,
    solve_least_squares,
)
from perfmodel.fitting.linear.robust import reweighted
from perfmodel.fitting.linear.rows import TrainingRows

Groups = tuple[tuple[int, ...], ...]
Places = npt.NDArray[np.intp]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class LinearFit:
    """Weights of the columns that are not zero throughout, and how well they are determined.

    Parameters
    ----------
    columns
        Places of these columns, shape (n,).
    coefficients, errors
        The weights and their standard errors, shape (n,).
    marks
        Marks of each weight.
    solution
        The solution in the merged columns.
    confounded, merged
        Groups of places that the rows cannot tell apart, and those of them that share one weight.
    iterations, converged
        Steps of reweighting, and whether it came to rest.
    """

    columns: Places
    coefficients: Array
    errors: Array
    marks: tuple[tuple[diagnosis.Mark, ...], ...]
    solution: Solution
    confounded: Groups
    merged: Groups
    iterations: int
    converged: bool


def fit_linear(
    rows: TrainingRows,
    divisors: Array,
    *,
    nonnegative: bool = False,
    ridge: float = 0.0,
    loss: str = "linear",
    merge: bool = False,
) -> LinearFit:
    """Fit times by a linear form; each row is divided by its divisor, shape (n_rows,).

    Raises
    ------
    TooFewRowsError
        If there are fewer rows than columns that are not zero throughout, or no such column.
    ConfoundedFeaturesError
        If the rows cannot tell columns apart and neither `merge` nor `ridge` says what to do.
    """
    columns = np.flatnonzero(np.any(rows.matrix != 0, axis=0))
    names = tuple(rows.names[i] for i in columns)
    if not 0 < columns.size <= len(rows.times):
        raise TooFewRowsError(len(rows.times), names)
    matrix = rows.matrix[:, columns] / divisors[:, None]
    target = rows.times / divisors
    proportional = proportional_groups(matrix) if merge else ()
    spread_out = _merging(matrix, proportional)
    reduced = matrix @ spread_out

    def weighted(weights: Array) -> tuple[Array, Array]:
        root = np.sqrt(rows.weights * weights)
        return reduced * root[:, None], target * root

    weights, iterations, converged = reweighted(
        lambda weights: plain_solution(*weighted(weights), nonnegative, ridge),
        lambda x: target - reduced @ x,
        len(target),
        loss,
    )
    solution = solve_least_squares(*weighted(weights), nonnegative, ridge)
    left = _expanded(solution.confounded, spread_out)
    if left and not (merge or ridge):
        raise ConfoundedFeaturesError(
            tuple(tuple(names[i] for i in group) for group in left), solution.rank, len(names)
        )
    inverse = spread_out @ solution.inverse
    residuals = target - reduced @ solution.x
    errors = diagnosis.standard_errors(
        inverse, residuals, rows.weights * weights, solution.freedom
    )
    undetermined = _members(() if ridge else left, columns.size)
    errors[undetermined] = np.inf
    coefficients = spread_out @ solution.x
    held: Flags = (spread_out != 0) @ ~solution.free
    merged = _members(proportional, columns.size)
    return LinearFit(
        columns, coefficients, errors,
        diagnosis.marks(coefficients, errors, inverse, held, merged, undetermined),
        solution, _at(columns, (*proportional, *left)), _at(columns, proportional),
        iterations, converged,
    )  # fmt: skip


def _merging(matrix: Array, groups: Groups) -> Array:
    """Return the matrix, shape (n, n_merged), that gives each member of a group its share.

    A merged column is the sum of its members scaled to unit length: they get equal times, in the
    rows at hand, out of what they cost together.
    """
    of_group = {i: group for group in groups for i in group}
    heads = [i for i in range(matrix.shape[1]) if of_group.get(i, (i,))[0] == i]
    shares = np.zeros((matrix.shape[1], len(heads)))
    for place, head in enumerate(heads):
        for i in of_group.get(head, ()):
            shares[i, place] = 1 / np.linalg.norm(matrix[:, i])
        if head not in of_group:
            shares[head, place] = 1.0
    return shares


def _expanded(groups: Groups, spread_out: Array) -> Groups:
    members = [
        np.flatnonzero(np.any(spread_out[:, list(group)] != 0, axis=1)).tolist() for group in groups
    ]
    return tuple(tuple(group) for group in members)


def _members(groups: Groups, count: int) -> Flags:
    inside = np.zeros(count, dtype=np.bool_)
    for group in groups:
        inside[list(group)] = True
    return inside


def _at(columns: Places, groups: Groups) -> Groups:
    return tuple(sorted(tuple(int(columns[i]) for i in group) for group in groups))
