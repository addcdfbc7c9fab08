"""Reasons not to trust a prediction: values with their numbers, each of which ``str`` puts into words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


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
    """An interval without bounds at a level [1]: there are too few groups of kernels to tell errors from.

    Examples
    --------
    >>> print(NoBounds(0.9, 2))
    no bounds can be given at 90%: 2 groups of kernels give bounds up to 66.7%
    """

    level: float
    groups: int

    def __str__(self) -> str:
        n = self.groups
        return f"no bounds can be given at {self.level:.0%}: {n} groups of kernels give bounds up to {n / (n + 1):.1%}"


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


Caution: TypeAlias = FarOutside | NotPositive | NoBounds | SuspiciousAnchor
