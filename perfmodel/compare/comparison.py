"""A predicted beside a measured time, as a value."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from perfmodel.errors import UnmeasuredFeatureError
from perfmodel.fitting import relative_errors
from perfmodel.store.measurement import UNRANKED

if TYPE_CHECKING:
    from perfmodel.predict import FittedModel
    from perfmodel.store import Measurements


@dataclass(frozen=True)
class Comparison:
    """One case with its measured and its predicted time.

    Parameters
    ----------
    kernel
        Name of the kernel class.
    parameters
        Its sizes.
    measured
        Measured time [s].
    predicted
        Predicted time [s]; None where the prediction was withheld.
    needs
        The features that no measurement exercised, where it was withheld.
    group
        The kernel's group.
    variant
        What changes the kernel's code.
    interval
        Lower and upper bound [s] of the prediction; None where it has none.
    ranked
        Whether it is an alternative in choices between variants.
    """

    kernel: str
    parameters: Mapping[str, int] = field(hash=False)
    measured: float
    predicted: float | None
    needs: tuple[str, ...] = ()
    group: str = ""
    variant: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}), hash=False)
    interval: tuple[float, float] | None = None
    ranked: bool = True

    @property
    def sizes(self) -> str:
        """The sizes in words, as in ``n=1024``."""
        return in_words(self.parameters)

    @property
    def form(self) -> str:
        """The variant in words, as in ``work_group=16x16``; empty where there is but one."""
        return in_words(self.variant)

    @property
    def relative_error(self) -> float | None:
        """:math:`|p - t| / t`; None where the prediction was withheld."""
        if self.predicted is None:
            return None
        return float(relative_errors(self.predicted, self.measured))

    @property
    def inside(self) -> bool | None:
        """Whether the measured time lies in the interval; None where there is none."""
        if self.interval is None:
            return None
        return self.interval[0] <= self.measured <= self.interval[1]


def compare(model: FittedModel, measured: Measurements, level: float = 0.9) -> tuple[Comparison, ...]:
    """Predict every measured case with a fitted model; in the order of kernels, variants and sizes."""
    rows = []
    for row in measured:
        predicted: float | None = None
        interval: tuple[float, float] | None = None
        needs: tuple[str, ...] = ()
        try:
            found = model.predict(measured.counts[row.counts_hash], row.parameters, level=level)
            predicted, interval = found.seconds, found.interval
        except UnmeasuredFeatureError as error:
            needs = error.features
        rows.append(
            Comparison(
                row.kernel, row.parameters, row.seconds, predicted, needs, row.group, row.variant, interval,
                UNRANKED not in row.flags,
            )
        )
    return in_order(rows)


def in_order(rows: Iterable[Comparison]) -> tuple[Comparison, ...]:
    """Return cases in the order of kernels, variants and sizes."""
    return tuple(sorted(rows, key=lambda row: (row.kernel, row.form, *volume(row.parameters))))


def volume(parameters: Mapping[str, int]) -> tuple[int, str]:
    """Return what orders sizes: the product of all parameters, and then their text."""
    return math.prod(parameters.values()), in_words(parameters)


def in_words(values: Mapping[str, Any]) -> str:
    """Return names and values in one line.

    Examples
    --------
    >>> in_words({"n": 8, "work_group": [16, 12]})
    'n=8 work_group=16x12'
    """
    return " ".join(
        f"{name}={'x'.join(map(str, value)) if isinstance(value, list | tuple) else value}"
        for name, value in values.items()
    )
