"""Weights of a model that is any differentiable expression in features and weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from scipy.optimize import OptimizeResult
from scipy.optimize import least_squares as minimise

from perfmodel.errors import NoStartError
from perfmodel.fitting.linear import diagnosis
from perfmodel.fitting.linear.least_squares import Array, Solution, solve_least_squares
from perfmodel.fitting.linear.robust import TUNING, row_weights, spread
from perfmodel.fitting.linear.rows import TrainingRows
from perfmodel.fitting.nonlinear.starts import Box, start_points

SEARCH = (1e-5, 60)
POLISH = (1e-12, 300)
"""Least relative gain in the cost of a step that goes on, and most evaluations of the model: from each
starting point, and then from the best that these led to."""

ROUNDS = 20
"""Most times that a robust loss is narrowed to the spread of the residuals it left."""


class TimeModel(Protocol):
    """What a fit needs of an expression."""

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the numbers that it takes of a kernel, in the order of the columns."""

    @property
    def weights(self) -> tuple[str, ...]:
        """Names of what is fitted, in order."""

    def value(self, features: Mapping[str, Any], weights: Sequence[float] | Array) -> Any:
        """Return the times [s], shape (n_rows,), of feature values of that shape."""

    def jacobian(self, features: Mapping[str, Any], weights: Sequence[float] | Array) -> Array:
        """Return the derivatives by the weights, shape (n_rows, n_weights)."""


@dataclass(frozen=True)
class LinearModel:
    """The sum of features, each times a weight of its own."""

    features: tuple[str, ...]

    @cached_property
    def weights(self) -> tuple[str, ...]:
        """The features' names after ``w_``."""
        return tuple(f"w_{name}" for name in self.features)

    def value(self, features: Mapping[str, Any], weights: Sequence[float] | Array) -> Any:
        """Return the sum."""
        return self.jacobian(features, weights) @ np.asarray(weights)

    def jacobian(self, features: Mapping[str, Any], weights: Sequence[float] | Array) -> Array:
        """Return the features."""
        return np.stack([np.asarray(features[name], np.float64) for name in self.features], axis=-1)


@dataclass(frozen=True)
class Attempt:
    """What came of one starting point.

    Parameters
    ----------
    start
        Its weights.
    cost
        Half the loss at the end; infinite where the model is not finite at the start.
    evaluations
        Evaluations of the model.
    converged
        Whether it came to rest.
    """

    start: tuple[float, ...]
    cost: float
    evaluations: int
    converged: bool


@dataclass(frozen=True, eq=False)
class NonlinearFit:
    """The best that was found, and what is known of it."""

    weights: Array
    errors: Array
    marks: tuple[tuple[diagnosis.Mark, ...], ...]
    solution: Solution
    confounded: tuple[tuple[int, ...], ...]
    attempts: tuple[Attempt, ...]
    evaluations: int
    converged: bool


@dataclass(frozen=True, eq=False)
class Problem:
    r"""Relative residuals :math:`\sqrt{v_j} (1 - T_j(w) / t_j)` and their derivatives."""

    model: TimeModel
    rows: TrainingRows
    box: Box

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
        found: Array = self.roots * (1 - self.model.value(self.features, weights) / self.rows.times)
        return found

    def slopes(self, weights: Array) -> Array:
        """Return the derivatives of weighted relative times, shape (n_rows, n_weights)."""
        found: Array = self.model.jacobian(self.features, weights)
        return found * (self.roots / self.rows.times)[:, None]

    def solve(
        self, start: Array, effort: tuple[float, int] = POLISH, loss: str = "linear", bend: float = 1.0
    ) -> OptimizeResult | None:
        """Run from one starting point, in weights divided by it; None where it is not finite there."""
        gain, evaluations = effort
        scale = np.where(start != 0, np.abs(start), 1.0)
        with np.errstate(all="ignore"):
            if not (np.isfinite(self.residuals(start)).all() and np.isfinite(self.slopes(start)).all()):
                return None
            found = minimise(
                lambda u: self.residuals(u * scale),
                start / scale,
                jac=lambda u: -np.nan_to_num(self.slopes(u * scale) * scale),
                bounds=(self.box.lower / scale, self.box.upper / scale),
                x_scale="jac", loss=loss, f_scale=bend,
                xtol=1e-15, ftol=gain, gtol=1e-15, max_nfev=evaluations,
            )  # fmt: skip
        found.weights = np.clip(found.x * scale, self.box.lower, self.box.upper)
        return found


def fit_nonlinear(
    model: TimeModel,
    rows: TrainingRows,
    box: Box,
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
    """Go on with the loss from where least squares ended; return where it bends too."""
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
    """Put weights that crept towards a bound onto it, if the rest then fits no worse."""
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
    marks = diagnosis.marks(
        weights, errors, inverse, held, np.zeros(count, dtype=np.bool_), undetermined
    )
    return NonlinearFit(
        weights, errors, marks, solution, confounded, attempts,
        sum(attempt.evaluations for attempt in attempts), found.status > 0,
    )  # fmt: skip


def _nothing(rows: int) -> Solution:
    none = np.zeros(0)
    return Solution(none, 0, 1.0, (), np.zeros((0, rows)), none.astype(np.bool_), float(rows))


def bounds_of(
    names: tuple[str, ...], given: Mapping[str, tuple[float, float]] | None, nonnegative: bool
) -> Box:
    """Return the box of the weights: what was given, else from 0 up or without bounds."""
    lowest = 0.0 if nonnegative else -np.inf
    pairs = [(given or {}).get(name, (lowest, np.inf)) for name in names]
    lower, upper = np.array(pairs, dtype=np.float64).reshape(-1, 2).T
    return Box(lower, upper)


def starts_of(names: tuple[str, ...], given: Mapping[str, float] | None) -> npt.NDArray[np.float64]:
    """Return the starting values that were given, NaN for the others."""
    return np.array([(given or {}).get(name, np.nan) for name in names], dtype=np.float64)
