"""The residuals of a model of run times, and one run of the minimisation from a starting point."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from scipy.optimize import OptimizeResult, least_squares as minimise

from perfmodel.fitting.linear.least_squares import Array, TrainingRows
from perfmodel.fitting.nonlinear.starts import WeightBounds
from perfmodel.lazy import Lazy

SEARCH = (1e-5, 60)
POLISH = (1e-12, 300)
"""Least relative gain in the cost of a step that goes on, and most evaluations of the model: from each
starting point, and then from the best that these led to."""


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
class LinearModel(Lazy):
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


@dataclass(frozen=True, eq=False)
class Problem(Lazy):
    r"""Relative residuals :math:`\sqrt{v_j} (1 - T_j(w) / t_j)` and their derivatives."""

    model: TimeModel
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
        found: Array = self.roots * (1 - self.model.value(self.features, weights) / self.rows.times)
        return found

    def slopes(self, weights: Array) -> Array:
        """Return the derivatives of weighted relative times, shape (n_rows, n_weights)."""
        found: Array = self.model.jacobian(self.features, weights)
        return found * (self.roots / self.rows.times)[:, None]

    def solve(
        self, start: Array, effort: tuple[float, int] = POLISH, loss: str = "linear", bend: float = 1.0
    ) -> OptimizeResult | None:
        """Run from one starting point, in weights divided by it; None where its squares are not finite there."""
        gain, evaluations = effort
        scale = np.where(start != 0, np.abs(start), 1.0)
        with np.errstate(all="ignore"):
            if not all(np.isfinite(np.sum(found**2)) for found in (self.residuals(start), self.slopes(start))):
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
