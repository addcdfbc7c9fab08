"""Least squares of relative errors for a differentiable model: from several starting points, with diagnosed weights."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult, least_squares as minimise

from perfmodel.errors import NoStartError
from perfmodel.expressions import Expression
from perfmodel.fitting import least_squares
from perfmodel.fitting.least_squares import Array, Groups, Solution, TrainingRows
from perfmodel.fitting.linear import TUNING, row_weights, spread
from perfmodel.fitting.weights_file import Mark
from perfmodel.values import FrozenValue

DECADES = 1.5
"""How many powers of ten the varied starting points lie to either side, at most."""


@dataclass(frozen=True, eq=False)
class WeightBounds:
    """Bounds of the weights, shape (n_weights,) each."""

    lower: Array
    upper: Array

    def clipped(self, point: Array) -> Array:
        """Return the point, moved into the box and off its faces by a little."""
        width = np.where(np.isfinite(self.upper - self.lower), self.upper - self.lower, np.inf)
        margin = np.where(np.isfinite(width), 1e-3 * width, 0.0)
        return np.asarray(np.clip(point, self.lower + margin, self.upper - margin))


def start_points(
    slopes: Callable[[Array], Array], given: Array, box: WeightBounds, count: int, generator: np.random.Generator
) -> Iterator[Array]:
    """Yield `count` starting points: one at which all terms take a similar time first, then variations of it.

    `slopes` gives the derivatives of the relative times by the weights, shape (n_rows, n_weights); `given` has the
    known starting values, NaN for the others. A variation multiplies each weight by a power of ten, evenly drawn
    between -1.5 and 1.5, and by a tenth of that power where the starting value is known.
    """
    known = np.isfinite(given)
    middle = balanced(slopes, given, box)
    yield middle
    for _ in range(count - 1):
        decades = generator.uniform(-DECADES, DECADES, size=given.size) * np.where(known, 0.1, 1.0)
        yield box.clipped(middle * 10**decades)


def balanced(slopes: Callable[[Array], Array], given: Array, box: WeightBounds) -> Array:
    """Return weights that let each term take about the same share of the times.

    A weight is one over the length of its derivative and the number of weights. Where a maximum hides a term its
    derivative is zero; it is seen once the weights of the others are so small, and so a few rounds are made.
    """
    known = np.isfinite(given)
    point = box.clipped(np.where(known, given, 1.0))
    seen = known.copy()
    for _ in range(given.size + 1):
        with np.errstate(all="ignore"):
            lengths = np.sqrt(np.mean(slopes(point) ** 2, axis=0))
            wanted = 1 / (lengths * given.size)
        new = ~seen & np.isfinite(wanted) & (wanted > 0)
        if not new.any():
            break
        point = box.clipped(np.where(new, wanted, point))
        seen |= new
    return point


def bounds_of(
    names: tuple[str, ...], given: Mapping[str, tuple[float, float]] | None, nonnegative: bool
) -> WeightBounds:
    """Return the bounds of the weights: those given, else from 0 up or none."""
    lowest = 0.0 if nonnegative else -np.inf
    pairs = [(given or {}).get(name, (lowest, np.inf)) for name in names]
    lower, upper = np.array(pairs, dtype=np.float64).reshape(-1, 2).T
    return WeightBounds(lower, upper)


def starts_of(names: tuple[str, ...], given: Mapping[str, float] | None) -> Array:
    """Return the starting values that were given, NaN for the others."""
    return np.array([(given or {}).get(name, np.nan) for name in names], dtype=np.float64)


SEARCH = (1e-5, 60)
POLISH = (1e-12, 300)
"""Least relative gain in the cost of a step that goes on, and most evaluations of the model: from each starting point,
and then from the best that these led to."""


@dataclass(frozen=True, eq=False)
class Problem(FrozenValue):
    r"""Relative residuals :math:`\sqrt{v_j} (1 - T_j(w) / t_j)` and their derivatives."""

    model: Expression
    rows: TrainingRows
    box: WeightBounds

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

    def solve(
        self, start: Array, effort: tuple[float, int] = POLISH, loss: str = "linear", bend: float = 1.0
    ) -> OptimizeResult | None:
        """Run from one starting point, in weights divided by it; None where its squares are not finite there."""
        gain, evaluations = effort
        scale = np.where(start != 0, np.abs(start), 1.0)
        with np.errstate(all="ignore"):
            if not all(np.isfinite(np.sum(values**2)) for values in (self.residuals(start), self.slopes(start))):
                return None
            run = minimise(
                lambda u: self.residuals(u * scale),
                start / scale,
                jac=lambda u: -np.nan_to_num(self.slopes(u * scale) * scale),
                bounds=(self.box.lower / scale, self.box.upper / scale),
                x_scale="jac", loss=loss, f_scale=bend,
                xtol=1e-15, ftol=gain, gtol=1e-15, max_nfev=evaluations,
            )  # fmt: skip
        run.weights = np.clip(run.x * scale, self.box.lower, self.box.upper)
        return run


ROUNDS = 20
"""Most times that a robust loss is narrowed to the spread of the residuals it left."""


@dataclass(frozen=True)
class Attempt:
    """The run from one starting point, with half the loss at its end as cost: infinite where it could not start."""

    start: tuple[float, ...]
    cost: float
    evaluations: int
    converged: bool


@dataclass(frozen=True, eq=False)
class NonlinearFit:
    """The best weights of all runs, and their diagnosis."""

    weights: Array
    errors: Array
    marks: tuple[tuple[Mark, ...], ...]
    solution: Solution
    confounded: Groups
    attempts: tuple[Attempt, ...]
    evaluations: int
    converged: bool


def fit_nonlinear(
    model: Expression,
    rows: TrainingRows,
    box: WeightBounds,
    start: Array,
    *,
    starts: int = 8,
    loss: str = "linear",
    seed: Any = 0,
) -> NonlinearFit:
    """Fit times by a model, from several starting points, and keep the best; `start` is as of :func:`start_points`.

    Raise a NoStartError if the model is finite at none of the starting points.
    """
    problem = Problem(model, rows, box)
    best, attempts = None, []
    for point in start_points(problem.slopes, start, box, starts, np.random.default_rng(seed)):
        run, begin = problem.solve(point, SEARCH), tuple(float(value) for value in point)
        if run is None:
            attempts.append(Attempt(begin, float("inf"), 1, False))
            continue
        attempts.append(Attempt(begin, float(run.cost), int(run.nfev), run.status > 0))
        if best is None or run.cost < best.cost:
            best = run
    if best is None:
        raise NoStartError(model.text, len(attempts))
    best = _settled(problem, problem.solve(best.weights) or best)
    best, bend = _robust(problem, best, loss)
    factors = row_weights(loss, problem.residuals(best.weights), bend)
    return _diagnosed(problem, best, tuple(attempts), factors)


def _settled(problem: Problem, run: OptimizeResult) -> OptimizeResult:
    """Move weights that are close to a bound onto it, if the fit is then no worse."""
    weights, moved = run.weights, run.weights.copy()
    slopes = np.abs(problem.slopes(weights)).max(axis=0)
    for bound in (problem.box.lower, problem.box.upper):
        with np.errstate(invalid="ignore"):
            creeping = (slopes > 0) & (slopes * np.abs(weights - bound) < 1e-6)
        moved = np.where(creeping, bound, moved)
    cost = 0.5 * float(np.sum(problem.residuals(moved) ** 2))
    if cost <= run.cost * (1 + 1e-9) + 1e-24:
        run.weights, run.cost = moved, min(cost, run.cost)
    return run


def _robust(problem: Problem, run: OptimizeResult, loss: str) -> tuple[OptimizeResult, float]:
    """Continue with the robust loss where least squares ended; return the result and where the loss bends."""
    last = np.inf
    for _ in range(ROUNDS if loss != "linear" else 0):
        bend = TUNING[loss] * spread(problem.residuals(run.weights))
        if not 1e-12 < bend < last * (1 - 1e-6):
            break
        last = bend
        run = problem.solve(problem.box.clipped(run.weights), POLISH, loss, bend) or run
    return run, last


def _diagnosed(problem: Problem, run: OptimizeResult, attempts: tuple[Attempt, ...], factors: Array) -> NonlinearFit:
    weights, box = run.weights, problem.box
    slopes = problem.slopes(weights) * np.sqrt(factors)[:, None]
    moves = np.any(slopes != 0, axis=0)
    held = moves & ((weights <= box.lower) | (weights >= box.upper))
    free = moves & ~held
    residuals = problem.residuals(weights)
    inverse, none = np.zeros((weights.size, residuals.size)), np.zeros(0)
    solution = Solution(none, 0, 1.0, (), inverse[:0], none.astype(np.bool_), float(residuals.size))
    if free.any():
        solution = least_squares.solve_least_squares(slopes[:, free], residuals)
    inverse[free] = solution.inverse
    errors = least_squares.standard_errors(inverse, residuals, factors, solution.freedom)
    places = np.flatnonzero(free)
    confounded = tuple(tuple(int(places[i]) for i in group) for group in solution.confounded)
    undetermined = ~moves
    for group in confounded:
        undetermined[list(group)] = True
    errors[undetermined | held] = np.inf
    marks = least_squares.marks_of(weights, errors, inverse, held, np.zeros(weights.size, dtype=np.bool_), undetermined)
    evaluations = sum(attempt.evaluations for attempt in attempts)
    return NonlinearFit(weights, errors, marks, solution, confounded, attempts, evaluations, run.status > 0)
