"""A fit of a differentiable model from several starting points, and the diagnosis of its weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult

from perfmodel.errors import NoStartError
from perfmodel.fitting.linear import diagnosis
from perfmodel.fitting.linear.least_squares import Array, Solution, TrainingRows, solve_least_squares
from perfmodel.fitting.linear.robust import TUNING, row_weights, spread
from perfmodel.fitting.nonlinear.problem import POLISH, SEARCH, Problem, TimeModel
from perfmodel.fitting.nonlinear.starts import WeightBounds, start_points

ROUNDS = 20
"""Most times that a robust loss is narrowed to the spread of the residuals it left."""


@dataclass(frozen=True)
class Attempt:
    """The run from one starting point, with half the loss at its end as cost.

    The cost is infinite where the model is not finite at the start.
    """

    start: tuple[float, ...]
    cost: float
    evaluations: int
    converged: bool


@dataclass(frozen=True, eq=False)
class NonlinearFit:
    """The best weights of all runs, and their diagnosis."""

    weights: Array
    errors: Array
    marks: tuple[tuple[diagnosis.Mark, ...], ...]
    solution: Solution
    confounded: tuple[tuple[int, ...], ...]
    attempts: tuple[Attempt, ...]
    evaluations: int
    converged: bool


def fit_nonlinear(
    model: TimeModel,
    rows: TrainingRows,
    box: WeightBounds,
    start: Array,
    *,
    starts: int = 8,
    loss: str = "linear",
    seed: Any = 0,
) -> NonlinearFit:
    """Fit times by a model, from several starting points, and keep the best.

    Raises
    ------
    NoStartError
        If the model is finite at none of the starting points.
    """
    problem = Problem(model, rows, box)
    generator = np.random.default_rng(seed)
    best, attempts = None, []
    for point in start_points(problem.slopes, start, box, starts, generator):
        found = problem.solve(point, SEARCH)
        attempts.append(_attempt(point, found))
        if found is not None and (best is None or found.cost < best.cost):
            best = found
    if best is None:
        raise NoStartError(str(getattr(model, "text", model)), len(attempts))
    best = _settled(problem, problem.solve(best.weights) or best)
    best, bend = _robust(problem, best, loss)
    factors = row_weights(loss, problem.residuals(best.weights), bend)
    return _diagnosed(problem, best, tuple(attempts), factors)


def _robust(problem: Problem, found: OptimizeResult, loss: str) -> tuple[OptimizeResult, float]:
    """Continue with the robust loss where least squares ended; return the result and where the loss bends."""
    last = np.inf
    for _ in range(ROUNDS if loss != "linear" else 0):
        bend = TUNING[loss] * spread(problem.residuals(found.weights))
        if not 1e-12 < bend < last * (1 - 1e-6):
            break
        last = bend
        found = problem.solve(problem.box.clipped(found.weights), POLISH, loss, bend) or found
    return found, last


def _attempt(point: Array, found: OptimizeResult | None) -> Attempt:
    start = tuple(float(value) for value in point)
    if found is None:
        return Attempt(start, float("inf"), 1, False)
    return Attempt(start, float(found.cost), int(found.nfev), found.status > 0)


def _settled(problem: Problem, found: OptimizeResult) -> OptimizeResult:
    """Move weights that are close to a bound onto it, if the fit is then no worse."""
    weights, moved = found.weights, found.weights.copy()
    slopes = np.abs(problem.slopes(weights)).max(axis=0)
    for bound in (problem.box.lower, problem.box.upper):
        with np.errstate(invalid="ignore"):
            creeping = (slopes > 0) & (slopes * np.abs(weights - bound) < 1e-6)
        moved = np.where(creeping, bound, moved)
    cost = 0.5 * float(np.sum(problem.residuals(moved) ** 2))
    if cost <= found.cost * (1 + 1e-9) + 1e-24:
        found.weights, found.cost = moved, min(cost, found.cost)
    return found


def _diagnosed(
    problem: Problem, found: OptimizeResult, attempts: tuple[Attempt, ...], factors: Array
) -> NonlinearFit:
    weights, box = found.weights, problem.box
    slopes = problem.slopes(weights) * np.sqrt(factors)[:, None]
    moves = np.any(slopes != 0, axis=0)
    held = moves & ((weights <= box.lower) | (weights >= box.upper))
    free = moves & ~held
    residuals = problem.residuals(weights)
    count, inverse = weights.size, np.zeros((weights.size, residuals.size))
    solution = solve_least_squares(slopes[:, free], residuals) if free.any() else _nothing(residuals.size)
    inverse[free] = solution.inverse
    errors = diagnosis.standard_errors(inverse, residuals, factors, solution.freedom)
    places = np.flatnonzero(free)
    confounded = tuple(tuple(int(places[i]) for i in group) for group in solution.confounded)
    undetermined = ~moves
    for group in confounded:
        undetermined[list(group)] = True
    errors[undetermined | held] = np.inf
    marks = diagnosis.marks(weights, errors, inverse, held, np.zeros(count, dtype=np.bool_), undetermined)
    return NonlinearFit(
        weights, errors, marks, solution, confounded, attempts,
        sum(attempt.evaluations for attempt in attempts), found.status > 0,
    )  # fmt: skip


def _nothing(rows: int) -> Solution:
    none = np.zeros(0)
    return Solution(none, 0, 1.0, (), np.zeros((0, rows)), none.astype(np.bool_), float(rows))
