"""What goes wrong while weights are fitted, and while an estimator is used."""

from __future__ import annotations

from pathlib import Path

from perfmodel.errors.base import PerfModelError, UnknownNameError


class BadTimesError(PerfModelError, ValueError):
    """Measured times are zero, negative or not finite, so that they have no relative error."""

    rows: tuple[int, ...]  # from 0
    values: tuple[float, ...]  # [s]
    labels: tuple[str, ...] = ()  # what was measured in these rows, where that is known

    def __str__(self) -> str:
        where = f" ({self.labels[0]})" if self.labels else ""
        return (
            f"{len(self.rows)} measured time(s) are not positive and finite, first in row {self.rows[0]}"
            f"{where}: {self.values[0]!r} s; leave these rows out or measure them again."
        )


class BadFeatureValuesError(PerfModelError, ValueError):
    """Feature values are negative or not finite."""

    rows: tuple[int, ...]  # from 0
    names: tuple[str, ...]
    message = """{rows!n} row(s), first row {rows[0]}, hold a value of {names} that is negative, NaN or inf; a feature
    counts things, so give numbers from 0 up."""


class TooFewRowsError(PerfModelError, ValueError):
    """There are fewer usable measurements than weights to find."""

    rows: int
    features: tuple[str, ...]

    def __str__(self) -> str:
        return (
            f"{self.rows} usable measurement(s) cannot determine {len(self.features)} weights "
            f"({', '.join(self.features) or 'no feature is exercised'}); "
            "measure more kernels or sizes (perfmodel measure)."
        )


class ConfoundedFeaturesError(PerfModelError, ValueError):
    """The measurements cannot tell some features apart: only what they cost together is known."""

    groups: tuple[tuple[str, ...], ...]
    rank: int  # independent columns
    columns: int
    message = """the rows determine {rank} of {columns} weights and cannot tell apart: {groups:; }; measure kernels in
    which these differ, or pass merge=True to share what they cost together among them."""


class NothingMeasuredError(PerfModelError, RuntimeError):
    """A calibration ended without a time of any measurement kernel."""

    folder: str | Path
    message = """nothing was measured into '{folder}', so no weights were fitted: the budget ended before the first
    measurement, or every kernel failed; give a larger --budget, or none, and run the same command again: it goes on."""


class NotFittedError(PerfModelError, AttributeError):
    """An estimator was used before it was fitted."""

    estimator: str
    message = "this {estimator} is not fitted yet; call fit(X, y) first."


class WrongColumnsError(PerfModelError, ValueError):
    """A matrix has not one column for each feature of an expression."""

    columns: int
    features: tuple[str, ...]
    message = """the matrix has {columns} column(s), and the expression takes {features!n}: {features}; give one column
    for each, in this order."""


class NoStartError(PerfModelError, ValueError):
    """A non-linear fit found no starting point at which the expression gives finite times."""

    expression: str
    tried: int
    message = """none of {tried} starting points gives finite times for '{expression}'; give start values
    (start={{'w_...': ...}}) or bounds that keep divisors away from zero."""


class StartsError(PerfModelError, ValueError):
    """A non-linear fit was asked to use no starting point."""

    found: int
    message = "{found} starting points were asked for; give 1 or more."


class UnknownLossError(UnknownNameError, ValueError):
    """No loss of a fit has this name."""

    kind = "loss"


class BadRidgeError(PerfModelError, ValueError):
    """The strength of a ridge is negative or no number."""

    found: object
    message = "ridge is {found!r}; give a finite number from 0 up, as 0.01 for 1 % of each column."


class LevelError(PerfModelError, ValueError):
    """The level of an interval is no probability between 0 and 1."""

    found: object
    message = "level is {found!r}; give a number between 0 and 1, as 0.9 for 90 %."
