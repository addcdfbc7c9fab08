"""Starting points of a non-linear fit, at which all terms of a model take a similar time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from perfmodel.fitting.linear.least_squares import Array

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
        inside: Array = np.clip(point, self.lower + margin, self.upper - margin)
        return inside


def start_points(
    slopes: Callable[[Array], Array], given: Array, box: WeightBounds, count: int, generator: np.random.Generator
) -> Iterator[Array]:
    """Yield `count` starting points: a balanced one first, then variations of it.

    `slopes` gives the derivatives of the relative times by the weights, shape (n_rows, n_weights); `given` has
    the known starting values, NaN for the others. A variation multiplies each weight by a power of ten, evenly
    drawn between -1.5 and 1.5, and by a tenth of that power where the starting value is known.
    """
    known = np.isfinite(given)
    middle = balanced(slopes, given, box)
    yield middle
    for _ in range(count - 1):
        decades = generator.uniform(-DECADES, DECADES, size=given.size) * np.where(known, 0.1, 1.0)
        yield box.clipped(middle * 10**decades)


def balanced(slopes: Callable[[Array], Array], given: Array, box: WeightBounds) -> Array:
    """Return weights that let each term take about the same share of the times.

    A weight is one over the length of its derivative and the number of weights. Where a maximum
    hides a term its derivative is zero; it is seen once the weights of the others are so small, and
    so a few rounds are made.
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
    """Return the box of the weights: the given bounds, else from 0 up or without bounds."""
    lowest = 0.0 if nonnegative else -np.inf
    pairs = [(given or {}).get(name, (lowest, np.inf)) for name in names]
    lower, upper = np.array(pairs, dtype=np.float64).reshape(-1, 2).T
    return WeightBounds(lower, upper)


def starts_of(names: tuple[str, ...], given: Mapping[str, float] | None) -> Array:
    """Return the starting values that were given, NaN for the others."""
    return np.array([(given or {}).get(name, np.nan) for name in names], dtype=np.float64)
