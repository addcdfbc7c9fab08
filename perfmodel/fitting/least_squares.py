"""Least squares: linear, or of a differentiable model from several starting points; how well weights are determined."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from scipy.linalg import qr, solve_triangular
from scipy.optimize import OptimizeResult, least_squares as minimise, nnls
from scipy.sparse.csgraph import connected_components

from perfmodel.errors import FitError, OptionError, listed
from perfmodel.expressions import Expression
from perfmodel.fitting.types import Flags, Floats
from perfmodel.fitting.weights_file import Mark
from perfmodel.values import grouped

Groups: TypeAlias = tuple[tuple[int, ...], ...]  #: Groups of column numbers, each sorted

EPSILON = float(np.finfo(np.float64).eps)
REFINEMENTS = 5  # most steps of iterative refinement


@dataclass(frozen=True, eq=False)
class Solution:
    """A least-squares solution, shape (n,), and how well the rows determine it.

    `rank` and `condition` describe the matrix with scaled columns. `confounded` are groups of columns that the rows
    cannot distinguish. `inverse` is the derivative of the solution by the right-hand side, shape (n, m). `free` is
    False for a number that the fit holds at its bound of zero. For such a number the row of `inverse` is that of a fit
    without this one bound. `freedom` is the number of rows minus the trace of the matrix that maps measured to fitted
    values.
    """

    x: Floats
    rank: int
    condition: float
    confounded: Groups
    inverse: Floats
    free: Flags
    freedom: float


def solve_least_squares(matrix: Floats, rhs: Floats, nonnegative: bool = False) -> Solution:
    r"""Minimise :math:`\|A x - b\|_2^2`. If `nonnegative`, the minimum is over :math:`x \ge 0`.

    A has the shape (m, n), and no column of zeros. At full rank the solution comes from QR with column pivoting of the
    scaled columns. Iterative refinement then improves solution and residual together, in extended precision where NumPy
    has it (Björck, *Iterative refinement of linear least squares solutions*, BIT 7, 1967). At a lower rank the result
    is the solution of least norm in the scaled columns.
    """
    rows, columns = matrix.shape
    scale = np.exp2(np.round(np.log2(np.linalg.norm(matrix, axis=0))))  # powers of two: scaling rounds nothing
    scaled = matrix / scale
    _, sigma, right = np.linalg.svd(scaled, full_matrices=rows < columns)
    rank = int(np.sum(sigma > max(matrix.shape) * EPSILON * sigma[0]))
    free = nnls(scaled, rhs)[0] > 0 if nonnegative else np.ones(columns, dtype=np.bool_)
    x, inverse = np.zeros(columns), np.zeros((columns, rows))
    if free.any():
        x[free], inverse[free] = _unconstrained(scaled[:, free], rhs)
    if nonnegative:
        x = np.maximum(x, 0)
    freedom = rows - float(np.sum(scaled.T * inverse))
    if not free.all():
        inverse[~free] = _released(scaled[:, ~free], scaled[:, free], inverse[free])
    return Solution(
        x / scale, rank, float(sigma[0] / sigma[rank - 1]), _null_groups(right[rank:].T),
        inverse / scale[:, None], free, freedom,
    )  # fmt: skip


def _unconstrained(matrix: Floats, rhs: Floats) -> tuple[Floats, Floats]:
    tolerance = max(matrix.shape) * EPSILON
    if np.linalg.matrix_rank(matrix, rtol=tolerance) < matrix.shape[1]:
        lengths = np.linalg.norm(matrix, axis=0)
        inverse = np.linalg.pinv(matrix / lengths, rcond=tolerance) / lengths[:, None]
        return inverse @ rhs, inverse
    q, r, pivots = qr(matrix, mode="economic", pivoting=True)
    order = np.argsort(pivots)
    x = _refined(matrix[:, pivots], rhs, q, r, solve_triangular(r, q.T @ rhs))
    return x[order], solve_triangular(r, q.T)[order]


def _refined(matrix: Floats, rhs: Floats, q: Floats, r: Floats, x: Floats) -> Floats:
    long_matrix, long_rhs = matrix.astype(np.longdouble), rhs.astype(np.longdouble)
    best = x.astype(np.longdouble)
    residual = long_rhs - long_matrix @ best
    last = np.inf
    for _ in range(REFINEMENTS):
        gap = (long_rhs - residual - long_matrix @ best).astype(np.float64)
        inner = q.T @ gap - solve_triangular(r, -(long_matrix.T @ residual).astype(np.float64), trans="T")
        step = solve_triangular(r, inner)
        size = float(np.max(np.abs(step)))
        if not size < last / 2:
            break
        best, residual, last = best + step, residual + (gap - q @ inner), size
    return np.asarray(best.astype(np.float64))


def _released(held: Floats, free: Floats, inverse: Floats) -> Floats:
    """Return for each number held at zero its derivative in a fit without the bound of only this number."""
    rest = held - free @ (inverse @ held)
    size = np.sum(rest**2, axis=0)
    known = size > 1e-20
    return np.asarray(np.where(known, rest / np.where(known, size, 1.0), 0.0).T)


def _null_groups(null_space: Floats) -> Groups:
    linked = np.abs(null_space @ null_space.T) > 1e-8
    _, labels = connected_components(linked, directed=False)
    groups = grouped((int(labels[column]), int(column)) for column in np.flatnonzero(np.diagonal(linked)))
    return tuple(map(tuple, groups.values()))


@dataclass(frozen=True, eq=False, kw_only=True)
class Fit:
    r"""Weights of a model, shape (n,), and how well the rows determine them.

    If the rows do not determine a weight, its standard error is infinite. For the marks see
    :data:`perfmodel.fitting.weights_file.MEANING`. Rank and condition describe the relative derivatives, with columns
    of about unit length. `degrees_of_freedom` is the number of rows minus the fitted degrees. `confounded` are groups
    of weights that the rows cannot distinguish.
    """

    weights: Floats = field(default_factory=lambda: np.zeros(0))
    converged: bool = True
    standard_errors: Floats = field(default_factory=lambda: np.zeros(0))
    marks: tuple[tuple[Mark, ...], ...] = ()
    rank: int = 0
    condition: float = 1.0
    degrees_of_freedom: float = 0.0
    confounded: Groups = ()

    def predict(self, matrix: Floats) -> Floats:
        """Return the times [s] of rows of feature values, shape (n_rows, n)."""
        return np.asarray(matrix @ self.weights)


def fit_linear(
    matrix: Floats, times: Floats, row_weights: Floats | None = None, nonnegative: bool = False,
    names: Sequence[str] = ()
) -> Fit:  # fmt: skip
    r"""Return the weights that minimise :math:`\sum_j v_j (1 - \sum_i w_i X_{ji} / t_j)^2`.

    X are feature values that are not negative, shape (n_rows, n). The times t are positive [s], and v are weights of
    the rows. `names` are the names of the features, for messages. The weight of a feature that is zero in every row is
    0. Features that are proportional in all rows share a weight: each feature gets an equal part of the common time.
    Other features that the rows cannot distinguish get the weights of least norm (in scaled columns). Raise a FitError
    for fewer rows than features. Source: Stevens and Klöckner, *A Unified, Hardware-Fitted, Cross-GPU Performance
    Model*, section 4.3.
    """
    count, columns = matrix.shape[1], np.flatnonzero(np.any(matrix != 0, axis=0))
    if not 0 < columns.size <= len(times):
        raise too_few_rows(len(times), [names[i] if names else f"column {i}" for i in columns.tolist()])
    weights = np.ones(len(times)) if row_weights is None else row_weights / row_weights.mean()
    matrix = matrix[:, columns] / times[:, None]
    groups = proportional_groups(matrix)
    shares = merged_shares(matrix, groups)
    system, root = matrix @ shares, np.sqrt(weights)
    solution = solve_least_squares(system * root[:, None], root, nonnegative)
    confounded = tuple(
        tuple(np.flatnonzero(np.any(shares[:, list(group)] != 0, axis=1)).tolist()) for group in solution.confounded
    )
    coefficients, inverse = shares @ solution.x, shares @ solution.inverse
    errors = standard_errors(inverse, 1 - system @ solution.x, weights, solution.freedom)
    undetermined = _members(confounded, columns.size)
    errors[undetermined] = np.inf
    held = (shares != 0) @ ~solution.free
    marks = marks_of(coefficients, errors, inverse, held, _members(groups, columns.size), undetermined)
    of_column = dict(zip(columns.tolist(), marks, strict=True))
    all_weights, all_errors = np.zeros(count), np.full(count, np.inf)
    all_weights[columns], all_errors[columns] = coefficients, errors
    return Fit(
        weights=all_weights, standard_errors=all_errors, marks=tuple(of_column.get(i, ()) for i in range(count)),
        rank=solution.rank, condition=solution.condition, degrees_of_freedom=solution.freedom,
        confounded=tuple(sorted(tuple(columns[list(group)].tolist()) for group in (*groups, *confounded))),
    )  # fmt: skip


def refuse_bad_times(times: Floats, labels: Sequence[str] = ()) -> None:
    """Raise a FitError for measured times that are not positive and finite. `labels` are the names of the rows."""
    bad = np.flatnonzero(~(np.isfinite(times) & (times > 0))).tolist()
    if bad:
        where = f" ({labels[bad[0]]})" if labels else ""
        raise FitError(
            f"{len(bad)} measured times are not positive and finite, first in row {bad[0]}{where}: "
            f"{float(times[bad[0]])!r} s", "leave these rows out or measure them again", rows=tuple(bad),
        )  # fmt: skip


def too_few_rows(rows: int, names: Sequence[str]) -> FitError:
    """Return the error for fewer rows than weights."""
    problem = f"{rows} usable measurements cannot determine {len(names)} weights ({listed(names)})"
    return FitError(problem, "measure more kernels or sizes (perfmodel measure)")


def proportional_groups(matrix: Floats) -> Groups:
    """Return the groups of columns that are positive multiples of one another."""
    unit = matrix / np.linalg.norm(matrix, axis=0)
    near = np.linalg.norm(unit[:, :, None] - unit[:, None, :], axis=0) < 1e-10
    labels = connected_components(near, directed=False)[1]
    groups = (tuple(np.flatnonzero(labels == label).tolist()) for label in np.unique(labels))
    return tuple(sorted(group for group in groups if len(group) > 1))


def merged_shares(matrix: Floats, groups: Groups) -> Floats:
    """Return the weight of each column for a weight of 1 of each merged column, shape (n, n_merged).

    A merged column is the sum of its members, scaled to unit length. Members get equal parts of their common time.
    """
    inside = {i for group in groups for i in group}
    merged = sorted([*groups, *((i,) for i in range(matrix.shape[1]) if i not in inside)])
    shares = np.zeros((matrix.shape[1], len(merged)))
    for number, group in enumerate(merged):
        for i in group:
            shares[i, number] = 1 / np.linalg.norm(matrix[:, i]) if len(group) > 1 else 1.0
    return shares


def _members(groups: Groups, count: int) -> Flags:
    return np.isin(np.arange(count), [i for group in groups for i in group])


def diagnosis(weights: Floats, slopes: Floats, residuals: Floats, moves: Flags, held: Flags) -> dict[str, Any]:
    """Return the attributes of a fit that describe how well the rows determine its weights.

    `slopes` are the derivatives of fitted values by the weights, shape (n_rows, n). The slopes and the residuals
    include the row weights. `moves` marks the weights on which a fitted value depends. `held` marks the weights at a
    bound.
    """
    free = moves & ~held
    groups: Groups = ()
    columns, inverse = np.flatnonzero(free), np.zeros((weights.size, residuals.size))
    rank, condition, freedom = 0, 1.0, float(residuals.size)
    if columns.size:
        solution = solve_least_squares(slopes[:, free], residuals)
        inverse[free] = solution.inverse
        rank, condition, freedom = solution.rank, solution.condition, solution.freedom
        groups = tuple(tuple(columns[list(group)].tolist()) for group in solution.confounded)
    undetermined = ~moves | _members(groups, weights.size)
    errors = standard_errors(inverse, residuals, np.ones(residuals.size), freedom)
    errors[undetermined | held] = np.inf
    marks = marks_of(weights, errors, inverse, held, np.zeros_like(held), undetermined)
    return {
        "standard_errors": errors, "marks": marks, "rank": rank, "condition": condition,
        "degrees_of_freedom": freedom, "confounded": groups,
    }  # fmt: skip


ONE_ROW = 0.9  # a weight gets the mark "one row" if the share of one row is above this


def standard_errors(inverse: Floats, residuals: Floats, weights: Floats, freedom: float) -> Floats:
    r"""Return :math:`s_i = \sigma \|P_i\|_2`, :math:`\sigma^2 = \sum_j v_j r_j^2/\nu`, with residuals r, row weights v.

    :math:`P` is the derivative of the weights by the right-hand sides, shape (n, m). Without a degree of freedom
    :math:`\nu` the errors are infinite.
    """
    if freedom < 0.5:
        return np.full(len(inverse), np.inf)
    sigma = np.sqrt(np.sum(weights * residuals**2) / freedom)
    return np.asarray(sigma * np.linalg.norm(inverse, axis=1))


def marks_of(
    coefficients: Floats, errors: Floats, inverse: Floats, held: Flags, merged: Flags, undetermined: Flags
) -> tuple[tuple[Mark, ...], ...]:
    r"""Return the marks of each weight, from the partial leverages :math:`P_{ij}^2 / \sum_k P_{ik}^2` of rows j."""
    squares = inverse**2
    total = squares.sum(axis=1)
    largest = squares.max(axis=1, initial=0.0) / np.where(total > 0, total, 1.0)
    flags: dict[Mark, Flags] = {
        "undetermined": undetermined, "merged": merged, "at bound": held,
        "barely": np.isfinite(errors) & (errors > np.abs(coefficients)) & ~held, "one row": largest > ONE_ROW,
    }  # fmt: skip
    return tuple(tuple(mark for mark, rows in flags.items() if rows[i]) for i in range(len(coefficients)))


DECADES = 1.5  # most powers of ten between a varied starting point and the first one
# A run ends at this relative gain in the cost, or after this many evaluations: from each starting point; from the best.
SEARCH, POLISH = (1e-5, 60), (1e-12, 300)


@dataclass(frozen=True, eq=False)
class WeightBounds:
    """Bounds of the weights, shape (n_weights,) each."""

    lower: Floats
    upper: Floats

    def clipped(self, point: Floats) -> Floats:
        """Return the point moved inside the bounds, at least by a thousandth of the distance between the bounds."""
        width = self.upper - self.lower
        margin = np.where(np.isfinite(width), 1e-3 * width, 0.0)
        return np.asarray(np.clip(point, self.lower + margin, self.upper - margin))


def start_points(
    slopes: Callable[[Floats], Floats], given: Floats, bounds: WeightBounds, count: int, generator: np.random.Generator
) -> Iterator[Floats]:
    """Yield `count` starting points. At the first point all terms take a similar time. The others are variations of it.

    `slopes` returns the derivatives of the relative times by the weights. `given` has the known starting values, and
    NaN for unknown ones. A variation multiplies each weight by :math:`10^x`, with x uniform between -1.5 and 1.5. If
    the starting value is known, x is between -0.15 and 0.15.
    """
    known = np.isfinite(given)
    middle = balanced(slopes, given, bounds)
    yield middle
    for _ in range(count - 1):
        decades = generator.uniform(-DECADES, DECADES, size=given.size) * np.where(known, 0.1, 1.0)
        yield bounds.clipped(middle * 10**decades)


def balanced(slopes: Callable[[Floats], Floats], given: Floats, bounds: WeightBounds) -> Floats:
    """Return weights at which each term takes about the same share of the times.

    A weight is 1 / (length of its derivative * number of weights). A term that is not the largest of a maximum has no
    derivative until the weights of the other terms are small. The function therefore takes several rounds.
    """
    known = np.isfinite(given)
    point = bounds.clipped(np.where(known, given, 1.0))
    seen = known.copy()
    for _ in range(given.size + 1):
        with np.errstate(all="ignore"):
            lengths = np.sqrt(np.mean(slopes(point) ** 2, axis=0))
            wanted = 1 / (lengths * given.size)
        new = ~seen & np.isfinite(wanted) & (wanted > 0)
        if not new.any():
            break
        point = bounds.clipped(np.where(new, wanted, point))
        seen |= new
    return point


@dataclass(frozen=True, eq=False)
class Problem:
    r"""Relative residuals :math:`\sqrt{v_j} (1 - T_j(w) / t_j)` and their derivatives."""

    model: Expression
    features: Mapping[str, Floats]
    times: Floats
    roots: Floats
    bounds: WeightBounds

    def residuals(self, weights: Floats) -> Floats:
        """Return the weighted residuals, shape (n_rows,)."""
        return np.asarray(self.roots * (1 - self.model.value(self.features, weights) / self.times))

    def slopes(self, weights: Floats) -> Floats:
        """Return the derivatives of weighted relative times, shape (n_rows, n_weights)."""
        return self.model.jacobian(self.features, weights) * (self.roots / self.times)[:, None]

    def solve(self, start: Floats, effort: tuple[float, int] = POLISH) -> OptimizeResult | None:
        """Minimise from a starting point, which also scales the weights. Return None if residuals are not finite."""
        gain, evaluations = effort
        scale = np.where(start != 0, np.abs(start), 1.0)
        with np.errstate(all="ignore"):
            if not all(np.isfinite(np.sum(values**2)) for values in (self.residuals(start), self.slopes(start))):
                return None
            run = minimise(
                lambda u: self.residuals(u * scale), start / scale,
                jac=lambda u: -np.nan_to_num(self.slopes(u * scale) * scale),
                bounds=(self.bounds.lower / scale, self.bounds.upper / scale), x_scale="jac", xtol=1e-15, ftol=gain,
                gtol=1e-15, max_nfev=evaluations,
            )  # fmt: skip
        run.weights = np.clip(run.x * scale, self.bounds.lower, self.bounds.upper)
        return run


@dataclass(frozen=True, eq=False, kw_only=True)
class NonlinearFit(Fit):
    """The best weights of all runs."""

    model: Expression

    def predict(self, matrix: Floats) -> Floats:
        """Return the times [s] of rows of feature values, shape (n_rows,)."""
        columns = dict(zip(self.model.features, matrix.T, strict=True))
        return np.asarray(np.zeros(len(matrix)) + self.model.value(columns, self.weights))


def fit_nonlinear(
    model: Expression, matrix: Floats, times: Floats, row_weights: Floats, bounds: Mapping[str, tuple[float, float]],
    start: Mapping[str, float], starts: int = 8, seed: int = 0
) -> NonlinearFit:  # fmt: skip
    """Fit times [s] by a model from several starting points and keep the best fit. Weights without bounds are >= 0."""
    if starts < 1:
        raise OptionError(f"{starts} starting points were asked for", "give 1 or more")
    features = dict(zip(model.features, matrix.T, strict=True))
    lower, upper = np.array([bounds.get(name, (0.0, np.inf)) for name in model.weights], dtype=np.float64).T
    problem = Problem(model, features, times, np.sqrt(row_weights / row_weights.mean()), WeightBounds(lower, upper))
    given = np.array([start.get(name, np.nan) for name in model.weights], dtype=np.float64)
    points = start_points(problem.slopes, given, problem.bounds, starts, np.random.default_rng(seed))
    runs = [run for point in points if (run := problem.solve(point, SEARCH)) is not None]
    if not runs:
        raise FitError(
            f"none of {starts} starting points gives finite times for '{model.text}'",
            "give the weights start values (Weight(start=...)), or bounds that keep divisors away from zero",
        )
    best = min(runs, key=lambda run: run.cost)
    run = _moved_to_bounds(problem, problem.solve(best.weights) or best)
    weights, slopes = run.weights, problem.slopes(run.weights)
    moves = np.any(slopes != 0, axis=0)
    held = moves & ((weights <= lower) | (weights >= upper))
    determined = diagnosis(weights, slopes, problem.residuals(weights), moves, held)
    return NonlinearFit(model=model, weights=weights, converged=run.status > 0, **determined)


def _moved_to_bounds(problem: Problem, run: OptimizeResult) -> OptimizeResult:
    weights, moved = run.weights, run.weights.copy()
    slopes = np.abs(problem.slopes(weights)).max(axis=0)
    for bound in (problem.bounds.lower, problem.bounds.upper):
        with np.errstate(invalid="ignore"):
            near = (slopes > 0) & (slopes * np.abs(weights - bound) < 1e-6)
        moved = np.where(near, bound, moved)
    cost = 0.5 * float(np.sum(problem.residuals(moved) ** 2))
    if cost <= run.cost * (1 + 1e-9) + 1e-24:
        run.weights, run.cost = moved, min(cost, run.cost)
    return run
