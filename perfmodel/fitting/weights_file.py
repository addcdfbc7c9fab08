"""The file that keeps fitted weights, ``perfmodel.weights/2``."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from perfmodel.display import one_line
from perfmodel.documents import MOST_LANES, json_text, require
from perfmodel.errors import FamilyUnaskedError
from perfmodel.fitting.linear.diagnosis import Mark
from perfmodel.fitting.options import FitOptions
from perfmodel.fitting.uncertainty.anchored import Anchored
from perfmodel.fitting.uncertainty.conformal import Conformal
from perfmodel.fitting.uncertainty.measured_range import Measured
from perfmodel.fitting.uncertainty.scatter import Scatter
from perfmodel.io import is_standard_output, write_whole
from perfmodel.models import Family, named_family
from perfmodel.models.model import EXPRESSION, Weight

SCHEMA = "perfmodel.weights/2"

Finite = Annotated[float, Field(allow_inf_nan=False)]
STRICT = ConfigDict(frozen=True, extra="forbid")


class FittedWeight(BaseModel):
    """The value of a weight on a device, such as the cost of one unit of a feature.

    Parameters
    ----------
    value
        The value, in ``unit``.
    unit
        As in ``s/operation``.
    standard_error
        Of the value, in ``unit``; None where the measurements give none.
    marks
        Warnings about it (:data:`perfmodel.fitting.linear.diagnosis.MEANING`).
    """

    model_config = STRICT
    value: Finite
    unit: str
    standard_error: Annotated[Finite, Field(ge=0)] | None = None
    marks: tuple[Mark, ...] = ()


class Residuals(BaseModel):
    """Relative errors of the fit on its own rows: geometric mean (floored), median, largest."""

    model_config = STRICT
    geometric_mean: Finite
    median: Finite
    largest: Finite


class FittedWeights(BaseModel):
    """The weights of a family on a device.

    Parameters
    ----------
    family
        Name of the family.
    device
        Name of the device that was measured.
    subgroup_size
        Work-items in a sub-group, for which the measured kernels were counted.
    options
        How the fit was made, with the seed of its starting points.
    rows
        Measurements that went into the fit.
    measurements
        SHA-256 of these measurements (:func:`perfmodel.fitting.weights.rows_hash`).
    rank, condition, degrees_of_freedom, converged
        As of :class:`~perfmodel.fitting.RelativeLeastSquares`.
    residuals
        How well the fit reproduces its own rows.
    notes
        Warnings about the weights, one sentence each.
    features
        Names of all weights, so that a missing one is noticed.
    weights
        Each weight by its name.
    conformal
        Scores for the intervals of predictions.
    measured
        Range of the measured times and features.
    scatter
        Errors between variants of one kernel; None in files from before they were kept.
    anchored
        How far predictions are off that one run of the kernel scales; None likewise.
    definition
        Source of the family, if it is a user's own (:attr:`perfmodel.models.Family.definition`). In a file, the
        path of a family's file is relative to the folder of the weights.
    definition_sha256
        SHA-256 of the family's file; empty where the family comes from none.
    facts
        Facts of the device as the fit knew them, for predictions; None where the family is a plain
        sum. A document ``perfmodel.device/1``.
    """

    model_config = STRICT
    schema_: Literal["perfmodel.weights/2"] = Field(
        default="perfmodel.weights/2", validation_alias="schema", serialization_alias="schema"
    )
    family: str
    device: str
    subgroup_size: int = Field(ge=1, le=MOST_LANES)
    options: FitOptions
    rows: int = Field(ge=0)
    measurements: str
    rank: int = Field(ge=0)
    condition: Finite
    degrees_of_freedom: Finite
    converged: bool
    residuals: Residuals
    notes: tuple[str, ...]
    features: tuple[str, ...]
    weights: dict[str, FittedWeight]
    conformal: Conformal | None = None
    measured: Measured | None = None
    scatter: Scatter | None = None
    anchored: Anchored | None = None
    definition: str = ""
    definition_sha256: str = ""
    facts: dict[str, Any] | None = None

    def __repr__(self) -> str:
        return one_line(f"<FittedWeights {self.family} on {self.device}: {len(self.weights)} from {self.rows} rows>")

    @property
    def family_file(self) -> str:
        """The Python file of the family; empty where the family comes from none."""
        return "" if self.definition.startswith(EXPRESSION) else self.definition

    def save(self, path: str | Path) -> None:
        """Write the weights as JSON, whole or not at all; raise OutputError if that is not possible."""
        data = self.model_dump(mode="json", by_alias=True)
        if self.family_file and not is_standard_output(path):
            with suppress(ValueError):  # on another drive
                data["definition"] = os.path.relpath(self.family_file, folder_of(path))
        require(isinstance(path, (str, Path)), "save: path", path, "a path")
        write_whole(path, (json_text(data, indent=2) + "\n").encode())


def folder_of(path: str | Path) -> Path:
    """Return the folder of a weights file, from which the path of a family's file starts."""
    return Path(os.path.realpath(path)).parent


def family_of(found: FittedWeights, path: str | Path = "") -> Family:
    """Return the family that weights belong to; no file is run for it.

    Raises
    ------
    UnknownFamilyError
        If there is none of that name.
    FamilyUnaskedError
        If it is in a Python file.
    ExpressionError
        If it is an expression that cannot be used.
    """
    if found.family_file:
        raise FamilyUnaskedError(path, found.family_file)
    if not found.definition:
        return named_family(found.family)
    units = (Weight(name, weight.unit) for name, weight in found.weights.items())
    return Family.from_expression(found.definition.removeprefix(EXPRESSION), found.family, weights=units)
