"""Reasons not to trust a prediction, as values with their numbers that ``str`` puts into words; the measured range."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias

import numpy as np
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from perfmodel.errors import StatisticOutside, UnknownSpan
from perfmodel.facts.doubts import ContradictingFacts

MISSING = "perfmodel measure --for KERNEL.PY"
"""The command that measures what a kernel needs."""


@dataclass(frozen=True)
class FarOutside:
    """A predicted time, or the value of a feature, far outside of the measured ones.

    Parameters
    ----------
    feature
        Its name; empty for the predicted time [s].
    values
        Smallest and largest value that lies far outside.
    measured
        Smallest and largest measured value.
    sizes
        At how many of how many sizes, for a prediction at an array of sizes; else None, and the values are one.

    Examples
    --------
    >>> print(FarOutside("launches", (1e9, 1e9), (10.0, 1e3)))
    launches is 1e+09, measured were 10 to 1e+03
    >>> print(FarOutside("", (0.02, 0.04), (1e-5, 1e-3), (2, 3)))
    predicted time is 0.02 to 0.04 at 2 of 3 sizes, measured were 1e-05 to 0.001 [s]
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
class NotPositive:
    """A predicted time that is zero or below, at some of the sizes at least."""

    def __str__(self) -> str:
        return "no run time is zero or below: the kernel is outside what was fitted"


@dataclass(frozen=True)
class NoBounds:
    """An interval without bounds at a level [1]: there are too few groups of kernels, or devices, to tell errors from.

    Examples
    --------
    >>> print(NoBounds(0.9, 2))
    no bounds can be given at 90%: 2 groups of kernels give bounds up to 66.7%
    """

    level: float
    groups: int
    what: str = "groups of kernels"

    def __str__(self) -> str:
        n = self.groups
        return f"no bounds can be given at {self.level:.0%}: {n} {self.what} give bounds up to {n / (n + 1):.1%}"


@dataclass(frozen=True)
class WideInterval:
    """An interval that is wide, in log time by a factor over that of measured kernels, and what makes it so most.

    Examples
    --------
    >>> print(WideInterval(2.5, "few measured kernels are like this one"))
    its interval is 2.5 times as wide (in log time) as those of measured kernels: few measured kernels are like this one
    """

    factor: float
    reason: str

    def __str__(self) -> str:
        wide = f"its interval is {self.factor:.1f} times as wide (in log time) as those of measured kernels"
        return f"{wide}: {self.reason}"


@dataclass(frozen=True)
class FromRelative:
    """A quantity or feature with the cost of a relative, times the ratio of both on other devices.

    Parameters
    ----------
    quantity, relative
        Their names.
    ratio, spread
        The ratio [1], and the factor by which it may be off at the prediction's level.
    devices
        On how many devices the ratio is known.
    exercised
        Whether measured kernels have the quantity, and the fit all the same found it to be free.

    Examples
    --------
    >>> print(FromRelative("circular_64", "exponential_64", 2.0, 2.5, 4, exercised=False))
    circular_64 was never measured on this device: taken as 2 times exponential_64 (0.8 to 5, by 4 other devices); ...
    """

    quantity: str
    relative: str
    ratio: float
    spread: float
    devices: int
    exercised: bool

    def __str__(self) -> str:
        problem = "costs nothing by the fit" if self.exercised else "was never measured on this device"
        by = f"by {self.devices} other devices" if self.devices else "a guess: no device has both"
        low, high = self.ratio / self.spread, self.ratio * self.spread
        taken = f"{self.ratio:.2g} times {self.relative} ({low:.2g} to {high:.2g}, {by})"
        advice = "" if self.exercised else f"; `{MISSING}` measures it"
        return f"{self.quantity} {problem}: taken as {taken}{advice}"

    def document(self) -> dict[str, Any]:
        """Return it for JSON."""
        return {
            "quantity": self.quantity, "relative": self.relative, "ratio": self.ratio,
            "low": self.ratio / self.spread, "high": self.ratio * self.spread, "devices": self.devices,
            "measured": self.exercised,
        }  # fmt: skip


@dataclass(frozen=True)
class SuspiciousAnchor:
    """A run that anchors predictions, with words for what is suspicious about it.

    Examples
    --------
    >>> print(SuspiciousAnchor(("spread", "clock")))
    the run that anchors it is suspicious (spread, clock): run it again
    """

    flags: tuple[str, ...]

    def __str__(self) -> str:
        return f"the run that anchors it is suspicious ({', '.join(self.flags)}): run it again"


Caution: TypeAlias = (
    FarOutside | FromRelative | NotPositive | NoBounds | WideInterval | SuspiciousAnchor | ContradictingFacts
    | UnknownSpan | StatisticOutside
)


Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]


def _ordered(ends: tuple[float, float]) -> tuple[float, float]:
    if ends[0] > ends[1]:
        raise ValueError(f"a range from {ends[0]} to {ends[1]} is empty; the smaller number stands first")
    return ends


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
