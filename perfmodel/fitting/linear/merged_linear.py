"""A linear fit with all its options, in which proportional columns share a weight; how its weights are known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from perfmodel.errors import ConfoundedFeaturesError, TooFewRowsError
from perfmodel.fitting.linear import diagnosis
from perfmodel.fitting.linear.least_squares import (
    Array,
    Solution,
    TrainingRows,
    plain_solution,
    proportional_groups,
    solve_least_squares,
)
from perfmodel.fitting.linear.robust import reweighted

Groups: TypeAlias = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, eq=False)
class Merging:
    """Columns of a matrix, and the merged columns that take their place in a fit.

    Parameters
    ----------
    groups
        Groups of columns that share one weight, each sorted.
    shares
        The weight of each column for a weight of 1 of each merged column, shape (n, n_merged).
    """

    groups: Groups
    shares: Array

    def expand(self, merged: Groups) -> Groups:
        """Return groups of merged columns as groups of columns."""
        return tuple(
            tuple(np.flatnonzero(np.any(self.shares[:, list(group)] != 0, axis=1)).tolist()) for group in merged
        )


def merge_columns(matrix: Array, groups: Groups | None = None) -> Merging:
    """Merge groups of columns, by default those that are positive multiples of one another.

    A merged column is the sum of its members scaled to unit length: in the rows at hand each member
    gets an equal time out of what they cost together.

    Examples
    --------
    >>> merge_columns(np.array([[3.0, 1.0, 6.0], [4.0, 0.0, 8.0]])).shares.tolist()
    [[0.2, 0.0], [0.0, 1.0], [0.1, 0.0]]
    """
    groups = proportional_groups(matrix) if groups is None else groups
    of_group = {i: group for group in groups for i in group}
    heads = [i for i in range(matrix.shape[1]) if of_group.get(i, (i,))[0] == i]
    shares = np.zeros((matrix.shape[1], len(heads)))
    for place, head in enumerate(heads):
        for i in of_group.get(head, ()):
            shares[i, place] = 1 / np.linalg.norm(matrix[:, i])
        if head not in of_group:
            shares[head, place] = 1.0
    return Merging(groups, shares)


Places = npt.NDArray[np.intp]


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
        If the rows cannot tell columns apart and neither `merge` nor `ridge` is given.
    """
    columns = np.flatnonzero(np.any(rows.matrix != 0, axis=0))
    names = tuple(rows.names[i] for i in columns)
    if not 0 < columns.size <= len(rows.times):
        raise TooFewRowsError(len(rows.times), names)
    matrix = rows.matrix[:, columns] / divisors[:, None]
    merging = merge_columns(matrix) if merge else merge_columns(matrix, ())
    system = _System(matrix @ merging.shares, rows.times / divisors, rows.weights, nonnegative, ridge)
    factors, iterations, converged = reweighted(system.solve_quickly, system.residuals, len(rows.times), loss)
    solution = system.solve(factors)
    confounded = merging.expand(solution.confounded)
    if confounded and not (merge or ridge):
        groups = tuple(tuple(names[i] for i in group) for group in confounded)
        raise ConfoundedFeaturesError(groups, solution.rank, len(names))
    errors, marks = _diagnose(system, factors, solution, merging, () if ridge else confounded)
    return LinearFit(
        columns, merging.shares @ solution.x, errors, marks, solution,
        _at(columns, (*merging.groups, *confounded)), _at(columns, merging.groups), iterations, converged,
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class _System:
    """Equations whose weighted squared residuals are minimised, with the options that bound the solution."""

    matrix: Array
    target: Array
    weights: Array
    nonnegative: bool
    ridge: float

    def residuals(self, x: Array) -> Array:
        """Return the residuals of a solution, without weights."""
        found: Array = self.target - self.matrix @ x
        return found

    def solve(self, factors: Array) -> Solution:
        """Return the solution for rows whose weights are multiplied by factors."""
        return solve_least_squares(*self._weighted(factors), self.nonnegative, self.ridge)

    def solve_quickly(self, factors: Array) -> Array:
        """Return the solution alone, without refinement."""
        return plain_solution(*self._weighted(factors), self.nonnegative, self.ridge)

    def _weighted(self, factors: Array) -> tuple[Array, Array]:
        root = np.sqrt(self.weights * factors)
        return self.matrix * root[:, None], self.target * root


def _diagnose(
    system: _System, factors: Array, solution: Solution, merging: Merging, confounded: Groups
) -> tuple[Array, tuple[tuple[diagnosis.Mark, ...], ...]]:
    """Return the standard error and the marks of each column's weight."""
    inverse, count = merging.shares @ solution.inverse, len(merging.shares)
    errors = diagnosis.standard_errors(
        inverse, system.residuals(solution.x), system.weights * factors, solution.freedom
    )
    undetermined = _members(confounded, count)
    errors[undetermined] = np.inf
    held = (merging.shares != 0) @ ~solution.free
    merged = _members(merging.groups, count)
    coefficients = merging.shares @ solution.x
    return errors, diagnosis.marks(coefficients, errors, inverse, held, merged, undetermined)


def _members(groups: Groups, count: int) -> npt.NDArray[np.bool_]:
    inside = np.zeros(count, dtype=np.bool_)
    for group in groups:
        inside[list(group)] = True
    return inside


def _at(columns: Places, groups: Groups) -> Groups:
    return tuple(sorted(tuple(int(columns[i]) for i in group) for group in groups))
