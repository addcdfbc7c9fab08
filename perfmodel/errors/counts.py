"""What goes wrong while a kernel is counted, and while its counts are evaluated, combined and traced."""

from __future__ import annotations

from dataclasses import dataclass

from perfmodel.errors.base import PerfModelWarning


@dataclass(frozen=True)
class UnknownSpan:
    """A caution: data index arrays, nothing says how local the indices are, and the time depends on it by a factor.

    Examples
    --------
    >>> print(UnknownSpan(("x",), 4.26))  # doctest: +ELLIPSIS
    data index x, and a factor of 4.3 lies between indices next to each other and any; the prediction is the ...
    """

    arrays: tuple[str, ...]
    factor: float

    def __str__(self) -> str:
        spans = ", ".join(f"'{array}:span': 1000" for array in self.arrays)
        return (
            f"data index {', '.join(self.arrays)}, and a factor of {self.factor:.1f} lies between indices next to each "
            "other and any; the prediction is the geometric mean; say among how many neighbouring indices those of a "
            f"work-item lie, as statistics {{{spans}}}"
        )


@dataclass(frozen=True)
class StatisticOutside:
    """A caution: a statistic is larger than it can be at these sizes.

    Examples
    --------
    >>> print(StatisticOutside("x:span", 5000.0, 1024.0))
    statistics['x:span'] is 5000, and at these sizes it is at most 1024: give a smaller number, or larger sizes
    """

    key: str
    value: float
    most: float

    def __str__(self) -> str:
        return (
            f"statistics[{self.key!r}] is {self.value:g}, and at these sizes it is at most {self.most:g}: give a "
            "smaller number, or larger sizes"
        )


class AssumedAccessWarning(PerfModelWarning):
    """The accesses of a C instruction are not declared, and assumed."""


class AtomicUpdateWarning(PerfModelWarning):
    """A kernel updates arrays atomically, which is counted as plain loads and stores."""


class UnknownStatisticWarning(PerfModelWarning):
    """A statistic is not used: no test, loop or array of the kernel has its key."""




