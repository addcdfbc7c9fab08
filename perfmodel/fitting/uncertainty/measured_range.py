"""The range of the measured times and features, and values of predictions far outside of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from perfmodel.fitting.uncertainty.cautions import FarOutside

if TYPE_CHECKING:
    from perfmodel.fitting.design import Design

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]


def _ordered(found: tuple[float, float]) -> tuple[float, float]:
    if found[0] > found[1]:
        raise ValueError(f"a range from {found[0]} to {found[1]} is empty; the smaller number stands first")
    return found


Range = Annotated[tuple[Positive, Positive], AfterValidator(_ordered)]

FAR = 10.0
"""Beyond this times the largest, or under the smallest over this, is far outside."""
SHARE = 0.01
"""Features that make up less than this share of a predicted time are not looked at."""


class Measured(BaseModel):
    """Smallest and largest measured time, and smallest and largest value of each feature.

    Parameters
    ----------
    seconds
        Times [s].
    features
        Values above zero of each feature, in its unit.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    seconds: Range
    features: dict[str, Range]

    def far_outside(
        self, seconds: Any, weights: Mapping[str, float], values: Mapping[str, Any]
    ) -> Iterator[FarOutside]:
        """Yield what lies far outside of a prediction's time and features.

        Predicted time [s] and feature values are numbers, or arrays of one shape; weights are seconds per unit.
        """
        if far := _far("", seconds, self.seconds, seconds, 1.0):
            yield far
        limits_of = self.features.get
        for name, value in values.items():
            limits = limits_of(name)
            if limits is None or (isinstance(value, float) and limits[0] <= value <= limits[1]):
                continue  # by far the most frequent case, and predictions have to be quick
            if far := _far(name, value, limits, seconds, weights.get(name, 0.0)):
                yield far


def measured_range(table: Design) -> Measured:
    """Return the range of a design's rows."""
    columns = {
        name: column[column > 0] for name, column in zip(table.names, table.matrix.T, strict=True)
    }
    return Measured(
        seconds=(float(table.times.min()), float(table.times.max())),
        features={name: (float(c.min()), float(c.max())) for name, c in columns.items() if c.size},
    )


def _far(feature: str, value: Any, limits: Range, seconds: Any, weight: float) -> FarOutside | None:
    """Return a value that lies far outside, else None. Numbers take a quick path without NumPy."""
    low, high = limits[0] / FAR, limits[1] * FAR
    if isinstance(value, float):
        if low <= value <= high or value == 0 or abs(weight * value) < SHARE * seconds:
            return None
        return FarOutside(feature, (value, value), limits)
    values, total = np.broadcast_arrays(value, seconds)
    outside = ((values < low) | (values > high)) & (values != 0) & (np.abs(weight * values) >= SHARE * total)
    if not outside.any():
        return None
    far = values[outside]
    return FarOutside(feature, (float(far.min()), float(far.max())), limits, (far.size, values.size))
