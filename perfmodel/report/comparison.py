"""Predicted against measured times, as values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from perfmodel.errors import UnmeasuredFeatureError
from perfmodel.fit import geometric_mean_error, relative_errors

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
    case
        Its sizes (and variant) in words, as in ``n=1024``.
    measured
        Measured time [s].
    predicted
        Predicted time [s]; None where the prediction was withheld.
    needs
        The features that no measurement exercised, where it was withheld.
    """

    kernel: str
    case: str
    measured: float
    predicted: float | None
    needs: tuple[str, ...] = ()

    @property
    def relative_error(self) -> float | None:
        """:math:`|p - t| / t`; None where the prediction was withheld."""
        if self.predicted is None:
            return None
        return float(relative_errors(self.predicted, self.measured))


def compare(model: FittedModel, measured: Measurements) -> tuple[Comparison, ...]:
    """Predict every measured case; in the order of kernels and, for each, of sizes."""
    rows = []
    for row in sorted(measured, key=lambda row: (row.kernel, *sorted(row.parameters.items()))):
        case = " ".join(f"{name}={value}" for name, value in row.parameters.items())
        predicted: float | None = None
        needs: tuple[str, ...] = ()
        try:
            predicted = model.predict(measured.counts[row.counts_hash], row.parameters).seconds
        except UnmeasuredFeatureError as error:
            needs = error.features
        rows.append(Comparison(row.kernel, case, row.seconds, predicted, needs))
    return tuple(rows)


def mean_error(rows: Iterable[Comparison]) -> float:
    """Return the geometric mean of the relative errors, each at least 0.1 %.

    Withheld predictions have no error: count them with :func:`withheld` and say so beside it.
    The result is NaN if all are withheld.
    """
    errors = [row.relative_error for row in rows]
    return geometric_mean_error([error for error in errors if error is not None])


def withheld(rows: Iterable[Comparison]) -> int:
    """Return how many predictions were withheld."""
    return sum(row.predicted is None for row in rows)


def kernels(rows: Sequence[Comparison]) -> tuple[str, ...]:
    """Return the names of the kernels in the order in which they first occur."""
    return tuple(dict.fromkeys(row.kernel for row in rows))
