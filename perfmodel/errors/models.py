"""What goes wrong with features, with model families and their expressions, with fits, and with fitted models."""

from __future__ import annotations

from dataclasses import field
from pathlib import Path

from perfmodel.errors.base import PerfModelWarning, underlined
from perfmodel.errors.described import DescribedError, DescribedNameError


class UnmadeFeatureError(DescribedError, ValueError):
    """No measurement kernel can be made for a feature."""

    feature: str
    message = """no measurement kernel can be made for '{feature}' (they are made for operations and for global accesses
    with a stride); write a kernel class that exercises it and pass its folder by --kernels."""


class UnknownFamilyError(DescribedNameError, LookupError):
    """No model family has this name."""

    kind = "model family"


class FamilyFileError(DescribedError, ValueError):
    """A Python file holds no model family that can be used."""

    path: str | Path
    problem: str
    message = """the family file {path} {problem}; it needs a module-level FAMILY = Family(...), as docs/add-a-family.md
    shows."""


class ChargedTwiceError(DescribedError, ValueError):
    """A feature would be charged in two sums of a family."""

    feature: str  # or the pattern
    sums: tuple[str, ...]
    message = """'{feature}' fits the patterns of {sums: and of }, so its time would count more than once; choose
    patterns that give each feature to one of them."""


class ExpressionError(DescribedError, ValueError):
    """An expression of a model family cannot be used; the text underlines the characters at fault."""

    text: str  # the expression
    start: int  # first character of `text` at fault
    end: int
    problem: str
    advice: str

    def __str__(self) -> str:
        return f"{self.problem}\n{underlined(self.text, self.start, self.end)}\n{self.advice}."


class WeightsFileError(DescribedError, ValueError):
    """A weights file cannot be used."""

    path: str | Path
    problem: str
    message = "weights file '{path}' {problem}; give a file that 'perfmodel fit' wrote."


class WeightsDeviceError(WeightsFileError):
    """A weights file belongs to another device than the one asked for."""

    problem: str = field(init=False, default="belongs to the device '{found}', not to '{wanted}'")
    found: str
    wanted: str


class ForeignWeightsWarning(PerfModelWarning):
    """Weights were named that belong to another device, driver or CPU than the one in use."""


class FamilyUnaskedError(WeightsFileError):
    """A weights file belongs to a family in a Python file, which is not run unasked."""

    problem: str = field(init=False, default="belongs to a family in the Python file '{file}'")
    file: str | Path
    message = """weights file '{path}' {problem}, which runs only if you ask for it: read it, and give --family '{file}'
    (pm.load(path, family='{file}'))."""


class FamilyDiffersError(WeightsFileError):
    """A weights file was given with another family than that of its fit."""

    message = "weights file '{path}' {problem}; give the family as it was then, or fit again."


class UnmeasuredFeatureError(DescribedError, ValueError):
    """A prediction is withheld: the kernel needs features that no measurement exercised."""

    features: tuple[str, ...]
    device: str
    message = """prediction withheld: no measurement on '{device}' ever exercised {features}; measure what the
    kernel needs (perfmodel measure --for KERNEL.PY), or pass allow_unmeasured=True (--allow-unmeasured) to count it as
    free."""


class NegativeTimeError(DescribedError, ValueError):
    """A model predicts a time below zero."""

    kernel: str
    family: str
    seconds: float  # the lowest
    terms: tuple[str, ...]  # those below zero, each with its seconds
    where: str = ""  # at how many of several sizes
    message = """'{family}' predicts {seconds:.3g} s for '{kernel}'{where}, and no run takes less than zero; below zero
    are {terms}. Take the family that calibration recommends, fit without weights below zero (perfmodel fit
    --nonnegative), or measure what the kernel needs (perfmodel measure --for)."""


class NotTransferableError(DescribedError, ValueError):
    """The weights of a family cannot become those of another device."""

    family: str
    target: str
    advised: str  # the family that fits the target's type
    allowed: tuple[str, ...]
    message = """the weights of '{family}' cannot be transferred to '{target}', since they do not say which rate of a
    device they are multiples of (Weight.scale); give weights of '{advised}', which fits it, or of another of:
    {allowed}."""


class DeviceTypeError(DescribedError, ValueError):
    """Weights of one type of device were to become those of another type."""

    source: str
    source_type: str
    target: str
    target_type: str
    advised: str  # the family that fits the target's type
    message = """the weights of '{source}', a {source_type}, say nothing of '{target}', a {target_type}; give weights of
    '{advised}' on a {target_type} (--like DEVICE --family {advised}), or facts of a {source_type} (--facts)."""


class TransferFactsError(DescribedError, LookupError):
    """The facts of two devices do not suffice to transfer weights from one to the other."""

    source: str
    target: str
    lacking: tuple[str, ...]  # each fact with its device, and what it is good for
    message = """weights of '{source}' cannot be transferred to '{target}', since facts are not known: {lacking:; }.
    Write them under 'facts' of a YAML file, each with value, unit and source (docs/facts.md): beside the weights
    (facts.yaml) for their device, and for the other in the file that you give (--facts FILE.yaml)."""


class ClockError(DescribedError, ValueError):
    """Times of the device's clock are asked for, and weights do not tell them."""

    model: str
    message = """{model}: the weights were fitted to times of the host's clock, so the launch is not known apart; leave
    --clock device out, or fit them again to measurements whose device told its own times (perfmodel fit, calibrate)."""


class NoCommonSizeError(DescribedError, ValueError):
    """No size in a range meets the assumptions of all variants."""

    parameter: str
    low: int
    high: int
    assumptions: tuple[str, ...]
    message = """no {parameter} from {low} to {high} meets the assumptions of both variants ({assumptions:; }); give a
    range that holds such a size."""


class BadTimesError(DescribedError, ValueError):
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


class BadFeatureValuesError(DescribedError, ValueError):
    """Feature values are negative or not finite."""

    rows: tuple[int, ...]  # from 0
    names: tuple[str, ...]
    message = """{rows!n} row(s), first row {rows[0]}, hold a value of {names} that is negative, NaN or inf; a feature
    counts things, so give numbers from 0 up."""


class TooFewRowsError(DescribedError, ValueError):
    """There are fewer usable measurements than weights to find."""

    rows: int
    features: tuple[str, ...]

    def __str__(self) -> str:
        return (
            f"{self.rows} usable measurement(s) cannot determine {len(self.features)} weights "
            f"({', '.join(self.features) or 'no feature is exercised'}); "
            "measure more kernels or sizes (perfmodel measure)."
        )


class ConfoundedFeaturesError(DescribedError, ValueError):
    """The measurements cannot tell some features apart: only what they cost together is known."""

    groups: tuple[tuple[str, ...], ...]
    rank: int  # independent columns
    columns: int
    message = """the rows determine {rank} of {columns} weights and cannot tell apart: {groups:; }; measure kernels in
    which these differ, or pass merge=True to share what they cost together among them."""


class NothingMeasuredError(DescribedError, RuntimeError):
    """A calibration ended without a time of any measurement kernel."""

    folder: str | Path
    message = """nothing was measured into '{folder}', so no weights were fitted: the budget ended before the first
    measurement, or every kernel failed; give a larger --budget, or none, and run the same command again: it goes on."""


class NotFittedError(DescribedError, AttributeError):
    """An estimator was used before it was fitted."""

    estimator: str
    message = "this {estimator} is not fitted yet; call fit(X, y) first."


class WrongColumnsError(DescribedError, ValueError):
    """A matrix has not one column for each feature of an expression."""

    columns: int
    features: tuple[str, ...]
    message = """the matrix has {columns} column(s), and the expression takes {features!n}: {features}; give one column
    for each, in this order."""


class NoStartError(DescribedError, ValueError):
    """A non-linear fit found no starting point at which the expression gives finite times."""

    expression: str
    tried: int
    message = """none of {tried} starting points gives finite times for '{expression}'; give start values
    (start={{'w_...': ...}}) or bounds that keep divisors away from zero."""


class StartsError(DescribedError, ValueError):
    """A non-linear fit was asked to use no starting point."""

    found: int
    message = "{found} starting points were asked for; give 1 or more."


class UnknownLossError(DescribedNameError, ValueError):
    """No loss of a fit has this name."""

    kind = "loss"


class BadRidgeError(DescribedError, ValueError):
    """The strength of a ridge is negative or no number."""

    found: object
    message = "ridge is {found!r}; give a finite number from 0 up, as 0.01 for 1 % of each column."


class LevelError(DescribedError, ValueError):
    """The level of an interval is no probability between 0 and 1."""

    found: object
    message = "level is {found!r}; give a number between 0 and 1, as 0.9 for 90 %."


class FoldsError(DescribedError, ValueError):
    """The number of folds is no whole number from 2."""

    found: object
    message = "folds is {found!r}; give a whole number from 2 up, as 8, so that each fit lacks an eighth of the rows."
