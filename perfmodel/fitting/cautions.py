"""Reasons not to trust a prediction, as texts or as values with their numbers, and the measured range."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias

import numpy as np
from pydantic import AfterValidator, BaseModel

from perfmodel.fitting.types import STRICT, Positive

MISSING = "perfmodel measure --for KERNEL.PY"  # the command that measures what a kernel needs
FAR = 10.0  # far outside: above this times the largest measured value, or below the smallest divided by this
SHARE = 0.01  # features that make up less than this share of a predicted time get no caution


@dataclass(frozen=True)
class FarOutside:
    """A predicted time [s], or the value of a feature, that is far outside the measured range.

    For a time, `feature` is empty. For an array of sizes, `sizes` has the number of sizes outside and the number of all
    sizes. `values` has the smallest and the largest value outside. `measured` has the smallest and the largest measured
    value.
    """

    feature: str
    values: tuple[float, float]
    measured: tuple[float, float]
    sizes: tuple[int, int] | None = None

    def __str__(self) -> str:
        (low, high), (least, most) = self.values, self.measured
        where = f"{low:.3g}"
        if self.sizes is not None:
            where += f" to {high:.3g} at {self.sizes[0]} of {self.sizes[1]} sizes"
        text = f"{self.feature or 'predicted time'} is {where}, measured were {least:.3g} to {most:.3g}"
        return text if self.feature else f"{text} [s]"


@dataclass(frozen=True)
class FromRelative:
    """A quantity whose cost follows from the cost of a relative, times the ratio of the two costs on other devices.

    `devices` is the number of these devices. `spread` is the factor by which the ratio may be wrong, at the level of
    the interval of the prediction. `exercised` is true if measured kernels have the quantity but its fitted cost was
    zero. Such a cost is doubtful.
    """

    quantity: str
    relative: str
    ratio: float
    spread: float
    devices: int
    exercised: bool

    def __str__(self) -> str:
        problem = "has a fitted cost of zero" if self.exercised else "was never measured on this device"
        by = f"by {self.devices} other devices" if self.devices else "a guess: no device has both"
        low, high = self.ratio / self.spread, self.ratio * self.spread
        taken = f"{self.ratio:.2g} times {self.relative} ({low:.2g} to {high:.2g}, {by})"
        advice = "" if self.exercised else f"; `{MISSING}` measures it"
        return f"{self.quantity} {problem}: taken as {taken}{advice}"

    def document(self) -> dict[str, Any]:
        """Return the caution as a dictionary for JSON."""
        return {
            "quantity": self.quantity, "relative": self.relative, "ratio": self.ratio, "low": self.ratio / self.spread,
            "high": self.ratio * self.spread, "devices": self.devices, "measured": self.exercised,
        }  # fmt: skip


Caution: TypeAlias = FarOutside | FromRelative | str


def _ordered(ends: tuple[float, float]) -> tuple[float, float]:
    if ends[0] > ends[1]:
        raise ValueError(f"a range from {ends[0]} to {ends[1]} is empty; give the smaller number first")
    return ends


Range = Annotated[tuple[Positive, Positive], AfterValidator(_ordered)]


class Measured(BaseModel):
    """The range of the measured times [s], and of the positive values of each feature, in its unit."""

    model_config = STRICT
    seconds: Range
    features: dict[str, Range]

    def far_outside(
        self, seconds: Any, weights: Mapping[str, float], values: Mapping[str, Any]
    ) -> Iterator[FarOutside]:
        """Yield a caution for the time [s] and each feature far outside. Values are numbers, or arrays of one shape."""
        if far := _far("", seconds, self.seconds, seconds, 1.0):
            yield far
        limits_of = self.features.get
        for name, value in values.items():
            limits = limits_of(name)
            if limits is None or (isinstance(value, float) and limits[0] <= value <= limits[1]):
                continue  # the most frequent case, and predictions must be quick
            if far := _far(name, value, limits, seconds, weights.get(name, 0.0)):
                yield far


def _far(feature: str, value: Any, limits: Range, seconds: Any, weight: float) -> FarOutside | None:
    low, high = limits[0] / FAR, limits[1] * FAR
    if isinstance(value, float):  # quicker than NumPy
        if low <= value <= high or value == 0 or abs(weight * value) < SHARE * seconds:
            return None
        return FarOutside(feature, (value, value), limits)
    values, total = np.broadcast_arrays(value, seconds)
    outside = ((values < low) | (values > high)) & (values != 0) & (np.abs(weight * values) >= SHARE * total)
    if not outside.any():
        return None
    far = values[outside]
    return FarOutside(feature, (float(far.min()), float(far.max())), limits, (far.size, values.size))
