"""What goes wrong with features, with model families and their expressions, and with fitted models."""

from __future__ import annotations

from dataclasses import field
from pathlib import Path

from perfmodel.errors.base import PerfModelError, UnknownNameError


class UnknownFeatureError(PerfModelError, ValueError):
    """No feature has this name."""

    name: str

    def __str__(self) -> str:
        return (
            f"no feature is called '{self.name}'; names are like op_float32_add, "
            "global_load_32_stride1, local_load_32, barrier_local, work_groups, launches."
        )


class UnmadeFeatureError(PerfModelError, ValueError):
    """No measurement kernel can be made for a feature."""

    feature: str

    def __str__(self) -> str:
        return (
            f"no measurement kernel can be made for '{self.feature}' (they are made for operations and for global "
            "accesses with a stride); write a kernel class that exercises it and pass its folder by --kernels."
        )


class UnknownFamilyError(UnknownNameError, LookupError):
    """No model family has this name."""

    kind = "model family"


class FamilyFileError(PerfModelError, ValueError):
    """A Python file holds no model family."""

    path: str | Path
    problem: str

    def __str__(self) -> str:
        return (
            f"the family file {self.path} {self.problem}; it needs a module-level FAMILY = Family(...), "
            "as docs/add-a-family.md shows."
        )


class FamilyMismatchError(PerfModelError, ValueError):
    """A model is of another family than an analysis needs."""

    found: str
    needed: str

    def __str__(self) -> str:
        return f"the model is of the family '{self.found}'; fit the family '{self.needed}' for this."


class ChargedTwiceError(PerfModelError, ValueError):
    """A feature would be charged in two sums of a family."""

    feature: str  # or the pattern
    sums: tuple[str, ...]

    def __str__(self) -> str:
        return (
            f"'{self.feature}' fits the patterns of {' and of '.join(self.sums)}, so its time would count more than "
            "once; choose patterns that give each feature to one of them."
        )


class ExpressionError(PerfModelError, ValueError):
    """An expression of a model family cannot be used; the text underlines the characters at fault."""

    text: str  # the expression
    start: int  # first character of `text` at fault
    end: int
    problem: str
    advice: str

    def __str__(self) -> str:
        first = self.text.rfind("\n", 0, self.start) + 1
        line = self.text[first:].split("\n", 1)[0]
        indent = self.start - first
        width = max(1, min(self.end - self.start, len(line) - indent))
        return f"{self.problem}\n    {line}\n    {' ' * indent}{'^' * width}\n{self.advice}."


class WeightsFileError(PerfModelError, ValueError):
    """A weights file cannot be used."""

    path: str | Path
    problem: str

    def __str__(self) -> str:
        return f"weights file '{self.path}' {self.problem}; give a file that 'perfmodel fit' wrote."


class WeightsDeviceError(WeightsFileError):
    """A weights file belongs to another device than the one asked for."""

    problem: str = field(init=False)
    found: str
    wanted: str

    def __post_init__(self) -> None:
        super().__post_init__()
        vars(self).update(problem=f"belongs to the device '{self.found}', not to '{self.wanted}'")


class UnmeasuredFeatureError(PerfModelError, ValueError):
    """A prediction is withheld: the kernel needs features that no measurement exercised."""

    features: tuple[str, ...]
    device: str

    def __str__(self) -> str:
        return (
            f"prediction withheld: no measurement on '{self.device}' ever exercised "
            f"{', '.join(self.features)}; measure a kernel that does and fit again, or pass "
            "allow_unmeasured=True (--allow-unmeasured) to count it as free."
        )


class NoCommonSizeError(PerfModelError, ValueError):
    """No size in a range meets the assumptions of all variants."""

    parameter: str
    low: int
    high: int
    assumptions: tuple[str, ...]

    def __str__(self) -> str:
        return (
            f"no {self.parameter} from {self.low} to {self.high} meets the assumptions of both variants "
            f"({'; '.join(self.assumptions)}); give a range that holds such a size."
        )
