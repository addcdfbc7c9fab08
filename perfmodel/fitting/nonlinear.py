"""Least squares of relative errors for a differentiable model, from several starting points."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from scipy.optimize import OptimizeResult, least_squares as minimise

from perfmodel.errors import FitError, OptionError
from perfmodel.expressions import Expression
from perfmodel.fitting.least_squares import Fit, diagnosis
from perfmodel.fitting.types import Floats

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
        times: Floats = np.zeros(len(matrix)) + self.model.value(columns, self.weights)
        return times


def fit_nonlinear(
    model: Expression, matrix: Floats, times: Floats, row_weights: Floats, bounds: Mapping[str, tuple[float, float]],
    start: Mapping[str, float], starts: int = 8, seed: int = 0
) -> NonlinearFit:  # fmt: skip
    """Fit times [s] by a model from several starting points and keep the best fit. Weights without bounds are >= 0."""
    if starts < 1:
        raise OptionError(f"{starts} starting points were asked for", "give 1 or more")
    features = dict(zip(model.features, matrix.T, strict=True))
    lower, upper = np.array([bounds.get(name, (0.0, np.inf)) for name in model.weights], dtype=np.float64).T
    roots = np.sqrt(row_weights / row_weights.mean())
    problem = Problem(model, features, times, roots, WeightBounds(lower, upper))
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
