"""A linear fit with all its options: losses that odd rows do not decide, and columns that share a weight."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from perfmodel.errors import ConfoundedFeaturesError, TooFewRowsError, UnknownLossError
from perfmodel.fitting import least_squares
from perfmodel.fitting.least_squares import Array, Flags, Groups, Solution, TrainingRows
from perfmodel.fitting.weights_file import Mark

STEPS = 200
"""Most steps of reweighting."""

NORMAL = 1.4826
"""Standard deviation of a normal distribution over the median of its absolute values."""

TUNING: Mapping[str, float] = MappingProxyType({"linear": np.inf, "huber": 1.345, "soft_l1": 1.345, "cauchy": 2.385})
"""Where a loss begins to bend, in standard deviations: 95 % as efficient as least squares on normal errors (Holland,
Welsch, *Robust regression using iteratively reweighted least-squares*, 1977); ``soft_l1`` bends as ``huber`` does."""


def check_loss(loss: str) -> None:
    """Raise an error if there is no such loss."""
    if loss not in TUNING:
        raise UnknownLossError(loss, tuple(TUNING))


def spread(residuals: Array) -> float:
    """Return the standard deviation of residuals as seen from the median of their sizes."""
    return float(NORMAL * np.median(np.abs(residuals)))


def row_weights(loss: str, residuals: Array, bend: float) -> Array:
    r"""Return for each row the weight :math:`\rho'(z)` at :math:`z = (r / c)^2`, with c = `bend`.

    Examples
    --------
    >>> row_weights("huber", np.array([0.5, -4.0]), 2.0).tolist()
    [1.0, 0.5]
    """
    z = (residuals / bend) ** 2
    weights: Array = np.ones_like(z)
    if loss == "huber":
        weights = 1 / np.sqrt(np.maximum(z, 1))
    elif loss == "soft_l1":
        weights = 1 / np.sqrt(1 + z)
    elif loss == "cauchy":
        weights = 1 / (1 + z)
    return weights


def reweighted(
    solve: Callable[[Array], Array], residuals_of: Callable[[Array], Array], rows: int, loss: str
) -> tuple[Array, int, bool]:
    """Solve least squares again and again with weights from the last residuals, until they stand.

    `solve` gives the weighted least-squares solution of a weight for each row, and `residuals_of` the residuals of a
    solution, without weights. With the last weights come the steps taken, and whether the weights stood in the end.
    """
    weights = np.ones(rows)
    if loss == "linear":
        return weights, 1, True
    for step in range(1, STEPS + 1):
        residuals = residuals_of(solve(weights))
        scale = spread(residuals)
        if scale < 1e-12:  # more than half of the rows are met exactly
            return weights, step, True
        last, weights = weights, row_weights(loss, residuals, TUNING[loss] * scale)
        if np.max(np.abs(weights - last)) < 1e-9:
            return weights, step, True
    return weights, STEPS, False


@dataclass(frozen=True, eq=False)
class Merging:
    """Groups of columns that share one weight, and the merged columns that take the place of all in a fit.

    `shares` are the weight of each column for a weight of 1 of each merged column, shape (n, n_merged).
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

    A merged column is the sum of its members scaled to unit length: in the rows at hand each member gets an equal time
    out of what they cost together.

    Examples
    --------
    >>> merge_columns(np.array([[3.0, 1.0, 6.0], [4.0, 0.0, 8.0]])).shares.tolist()
    [[0.2, 0.0], [0.0, 1.0], [0.1, 0.0]]
    """
    groups = least_squares.proportional_groups(matrix) if groups is None else groups
    of_group = {i: group for group in groups for i in group}
    heads = [i for i in range(matrix.shape[1]) if of_group.get(i, (i,))[0] == i]
    shares = np.zeros((matrix.shape[1], len(heads)))
    for place, head in enumerate(heads):
        for i in of_group.get(head, ()):
            shares[i, place] = 1 / np.linalg.norm(matrix[:, i])
        if head not in of_group:
            shares[head, place] = 1.0
    return Merging(groups, shares)


@dataclass(frozen=True, eq=False)
class LinearFit:
    """Weights of the columns that are not zero throughout, and how well they are determined.

    The places of these columns, their weights `coefficients` and the standard errors have the shape (n,). The solution
    is that of the merged columns. Groups of places that the rows cannot tell apart are `confounded`, and those of them
    that share one weight are `merged`. Reweighting took some iterations, and came to rest or not.
    """

    columns: npt.NDArray[np.intp]
    coefficients: Array
    errors: Array
    marks: tuple[tuple[Mark, ...], ...]
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

    Raise a TooFewRowsError for fewer rows than columns that are not zero throughout, or no such column, and a
    ConfoundedFeaturesError if the rows cannot tell columns apart and neither `merge` nor `ridge` is given.
    """
    columns = np.flatnonzero(np.any(rows.matrix != 0, axis=0))
    names = tuple(rows.names[i] for i in columns)
    if not 0 < columns.size <= len(rows.times):
        raise TooFewRowsError(len(rows.times), names)
    matrix = rows.matrix[:, columns] / divisors[:, None]
    merging = merge_columns(matrix) if merge else merge_columns(matrix, ())
    system = _System(matrix @ merging.shares, rows.times / divisors, rows.weights, nonnegative, ridge)
    factors, iterations, converged = reweighted(system.solve_quickly, system.residuals, len(rows.times), loss)
    solution = least_squares.solve_least_squares(*system.weighted(factors), nonnegative, ridge)
    confounded = merging.expand(solution.confounded)
    if confounded and not (merge or ridge):
        groups = tuple(tuple(names[i] for i in group) for group in confounded)
        raise ConfoundedFeaturesError(groups, solution.rank, len(names))
    coefficients, inverse = merging.shares @ solution.x, merging.shares @ solution.inverse
    residuals = system.residuals(solution.x)
    errors = least_squares.standard_errors(inverse, residuals, rows.weights * factors, solution.freedom)
    undetermined = _members(() if ridge else confounded, columns.size)
    errors[undetermined] = np.inf
    held = (merging.shares != 0) @ ~solution.free
    merged = _members(merging.groups, columns.size)
    marks = least_squares.marks_of(coefficients, errors, inverse, held, merged, undetermined)

    def places(groups: Groups) -> Groups:
        return tuple(sorted(tuple(int(columns[i]) for i in group) for group in groups))

    return LinearFit(
        columns, coefficients, errors, marks, solution, places((*merging.groups, *confounded)), places(merging.groups),
        iterations, converged,
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
        return np.asarray(self.target - self.matrix @ x)

    def solve_quickly(self, factors: Array) -> Array:
        """Return the solution alone, without refinement, for rows whose weights are multiplied by factors."""
        return least_squares.plain_solution(*self.weighted(factors), self.nonnegative, self.ridge)

    def weighted(self, factors: Array) -> tuple[Array, Array]:
        """Return the matrix and the target, each row times the root of its weight."""
        root = np.sqrt(self.weights * factors)
        return self.matrix * root[:, None], self.target * root


def _members(groups: Groups, count: int) -> Flags:
    inside = np.zeros(count, dtype=np.bool_)
    for group in groups:
        inside[list(group)] = True
    return inside
