"""The sizes at which a kernel class can be measured, from small to large."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

Parameters: TypeAlias = Mapping[str, int]


@dataclass(frozen=True)
class Ladder:
    """Sizes from small to large: rung t is ``at(p + step*t)``, with p chosen for each device.

    Parameters
    ----------
    at : callable
        From an exponent to the parameter sets of one rung; more than one where shapes are compared.
    start : int
        The smallest exponent worth trying.
    step : int
        Distance of two rungs: 1 for the paper's ``2**(p+t)``, 2 for ``2**(p+2*t)``.
    rungs : int
        Number of rungs in the paper.
    longest : int, optional
        If given, the sets of a rung are in the order of their times, and only this many are
        measured: the last ones that are short enough.
    """

    at: Callable[[int], tuple[Parameters, ...]]
    start: int
    step: int = 1
    rungs: int = 4
    longest: int | None = None

    def exponents(self, p: int, rungs: int | None = None) -> tuple[int, ...]:
        """Exponents of the ladder whose lowest rung is `p`."""
        return tuple(p + self.step * t for t in range(rungs or self.rungs))
