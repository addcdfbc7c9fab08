"""Least squares of relative errors for a differentiable model, from several starting points."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult, least_squares as minimise

from perfmodel.errors import FitError
from perfmodel.expressions import Expression
from perfmodel.fitting.least_squares import (
    Array,
    Groups,
    Solution,
    TrainingRows,
    marks_of,
    solve_least_squares,
    standard_errors,
)
from perfmodel.fitting.weights_file import Mark
from perfmodel.values import FrozenValue

DECADES = 1.5  # most powers of ten between a varied starting point and the first one
SEARCH = (1e-5, 60)
POLISH = (1e-12, 300)


@dataclass(frozen=True, eq=False)
class WeightBounds:
    """Bounds of the weights, shape (n_weights,) each."""

    lower: Array
    upper: Array

    def clipped(self, point: Array) -> Array:
        """Return the point, moved inside the bounds by a thousandth of their distance."""
        width = self.upper - self.lower
        margin = np.where(np.isfinite(width), 1e-3 * width, 0.0)
        return np.asarray(np.clip(point, self.lower + margin, self.upper - margin))


def bounds_of(
    names: tuple[str, ...], given: Mapping[str, tuple[float, float]] | None, nonnegative: bool
) -> WeightBounds:
    """Return the given bounds of the weights, else from 0 up or none."""
    lowest = 0.0 if nonnegative else -np.inf
    pairs = [(given or {}).get(name, (lowest, np.inf)) for name in names]
    lower, upper = np.array(pairs, dtype=np.float64).reshape(-1, 2).T
    return WeightBounds(lower, upper)


def start_points(
    slopes: Callable[[Array], Array], given: Array, bounds: WeightBounds, count: int, generator: np.random.Generator
) -> Iterator[Array]:
    """Yield `count` starting points: first one at which all terms take a similar time, then variations of it.

    `slopes` returns the derivatives of the relative times by the weights; `given` has the known starting values, NaN
    for the others. A variation multiplies each weight by a power of ten, drawn uniformly between -1.5 and 1.5, and by a
    tenth of that power where the starting value is known.
    """
    known = np.isfinite(given)
    middle = balanced(slopes, given, bounds)
    yield middle
    for _ in range(count - 1):
        decades = generator.uniform(-DECADES, DECADES, size=given.size) * np.where(known, 0.1, 1.0)
        yield bounds.clipped(middle * 10**decades)


def balanced(slopes: Callable[[Array], Array], given: Array, bounds: WeightBounds) -> Array:
    """Return weights at which each term takes about the same share of the times.

    A weight is one over the length of its derivative and the number of weights. The derivative of a term below a
    maximum is zero until the weights of the other terms are small, so this takes several rounds.
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
class Problem(FrozenValue):
    r"""Relative residuals :math:`\sqrt{v_j} (1 - T_j(w) / t_j)` and their derivatives."""

    model: Expression
    rows: TrainingRows
    bounds: WeightBounds

    @cached_property
    def features(self) -> Mapping[str, Array]:
        """The columns by name."""
        return dict(zip(self.model.features, self.rows.matrix.T, strict=True))

    @cached_property
    def roots(self) -> Array:
        """Square roots of the rows' weights."""
        return np.sqrt(self.rows.weights)

    def residuals(self, weights: Array) -> Array:
        """Return the weighted residuals, shape (n_rows,)."""
        return np.asarray(self.roots * (1 - self.model.value(self.features, weights) / self.rows.times))

    def slopes(self, weights: Array) -> Array:
        """Return the derivatives of weighted relative times, shape (n_rows, n_weights)."""
        return self.model.jacobian(self.features, weights) * (self.roots / self.rows.times)[:, None]

    def solve(self, start: Array, effort: tuple[float, int] = POLISH) -> OptimizeResult | None:
        """Run from one starting point, in weights divided by it; return None where the squares are not finite there."""
        gain, evaluations = effort
        scale = np.where(start != 0, np.abs(start), 1.0)
        with np.errstate(all="ignore"):
            if not all(np.isfinite(np.sum(values**2)) for values in (self.residuals(start), self.slopes(start))):
                return None
            run = minimise(
                lambda u: self.residuals(u * scale),
                start / scale,
                jac=lambda u: -np.nan_to_num(self.slopes(u * scale) * scale),
                bounds=(self.bounds.lower / scale, self.bounds.upper / scale),
                x_scale="jac", xtol=1e-15, ftol=gain, gtol=1e-15, max_nfev=evaluations,
            )  # fmt: skip
        run.weights = np.clip(run.x * scale, self.bounds.lower, self.bounds.upper)
        return run


@dataclass(frozen=True)
class Attempt:
    """The run from one starting point; the cost is half the sum of squares, infinite where it could not start."""

    start: tuple[float, ...]
    cost: float
    evaluations: int
    converged: bool


@dataclass(frozen=True, eq=False)
class NonlinearFit:
    """The best weights of all runs, and how well they are determined."""

    weights: Array
    errors: Array
    marks: tuple[tuple[Mark, ...], ...]
    solution: Solution
    confounded: Groups
    attempts: tuple[Attempt, ...]
    converged: bool


def fit_nonlinear(
    model: Expression, rows: TrainingRows, bounds: WeightBounds, start: Array, starts: int = 8, seed: Any = 0
) -> NonlinearFit:
    """Fit times by a model from several starting points (:func:`start_points`) and keep the best result."""
    problem = Problem(model, rows, bounds)
    best, attempts = None, []
    for point in start_points(problem.slopes, start, bounds, starts, np.random.default_rng(seed)):
        run, begin = problem.solve(point, SEARCH), tuple(float(value) for value in point)
        if run is None:
            attempts.append(Attempt(begin, float("inf"), 1, False))
            continue
        attempts.append(Attempt(begin, float(run.cost), int(run.nfev), run.status > 0))
        if best is None or run.cost < best.cost:
            best = run
    if best is None:
        raise FitError(
            f"none of {len(attempts)} starting points gives finite times for '{model.text}'",
            "give start values (start={'w_...': ...}), or bounds that keep divisors away from zero",
        )
    return _diagnosed(problem, _moved_to_bounds(problem, problem.solve(best.weights) or best), tuple(attempts))


def _moved_to_bounds(problem: Problem, run: OptimizeResult) -> OptimizeResult:
    """Move weights that are close to a bound onto it, if the fit is then not worse."""
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


def _diagnosed(problem: Problem, run: OptimizeResult, attempts: tuple[Attempt, ...]) -> NonlinearFit:
    weights, bounds = run.weights, problem.bounds
    slopes = problem.slopes(weights)
    moves = np.any(slopes != 0, axis=0)
    held = moves & ((weights <= bounds.lower) | (weights >= bounds.upper))
    free = moves & ~held
    residuals = problem.residuals(weights)
    inverse, none = np.zeros((weights.size, residuals.size)), np.zeros(0)
    solution = Solution(none, 0, 1.0, (), inverse[:0], none.astype(np.bool_), float(residuals.size))
    if free.any():
        solution = solve_least_squares(slopes[:, free], residuals)
    inverse[free] = solution.inverse
    errors = standard_errors(inverse, residuals, np.ones(residuals.size), solution.freedom)
    columns = np.flatnonzero(free)
    confounded = tuple(tuple(int(columns[i]) for i in group) for group in solution.confounded)
    undetermined = ~moves
    for group in confounded:
        undetermined[list(group)] = True
    errors[undetermined | held] = np.inf
    marks = marks_of(weights, errors, inverse, held, np.zeros(weights.size, dtype=np.bool_), undetermined)
    return NonlinearFit(weights, errors, marks, solution, confounded, attempts, run.status > 0)
