"""The file of fitted weights, ``perfmodel.weights/2``: its values, its reading, and checks against the family."""

from __future__ import annotations

import math
import os
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from perfmodel.documents import MOST_LANES, Schema, json_text, one_line, read_file, reading, require, value_of
from perfmodel.errors import (
    DocumentError,
    FactsFormatError,
    FamilyDiffersError,
    FamilyUnaskedError,
    UnknownFeatureError,
    WeightsDeviceError,
    WeightsFileError,
)
from perfmodel.facts import DeviceFacts
from perfmodel.fitting.linear.diagnosis import Mark
from perfmodel.fitting.options import FitOptions
from perfmodel.fitting.uncertainty.anchored import Anchored
from perfmodel.fitting.uncertainty.conformal import Conformal
from perfmodel.fitting.uncertainty.measured_range import Measured
from perfmodel.fitting.uncertainty.selection import Scatter
from perfmodel.io import is_standard_output, write_whole
from perfmodel.models import named_family
from perfmodel.models.model import EXPRESSION, Family, Weight

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


WEIGHTS = Schema(SCHEMA, "fit the measurements again (perfmodel fit --from FOLDER -o FILE)")


def read_weights(path: str | Path, device: str | None = None, family: Family | None = None) -> FittedWeights:
    """Read a weights file and check it against its family.

    The family is needed if it cannot be found by its name, or is in a Python file: no file is run here.
    With `device`, the weights must belong to the device of that name.

    Raises
    ------
    WeightsFileError
        If it is missing, is no weights file of this schema, lacks a weight, or has one that does not belong to
        the family, has another unit, or is outside of its bounds.
    WeightsDeviceError
        If it belongs to another device.
    FamilyUnaskedError
        If its family is in a Python file, and no family is given.
    FamilyDiffersError
        If the family is not that of the fit: it has another name, or its file or expression has changed.
    UnknownFamilyError, ExpressionError
        If its family does not exist.
    """
    try:
        with reading(path):
            found = value_of(FittedWeights, read_file(path), WEIGHTS)
        if found.facts is not None:
            DeviceFacts.from_json(found.facts)
    except DocumentError as error:
        raise WeightsFileError(str(path), error.problem) from error
    except FactsFormatError as error:
        raise WeightsFileError(str(path), f"has facts of a device that cannot be used: it {error.problem}") from error
    _check_names(path, found)
    if found.family_file:
        file = os.path.normpath(folder_of(path) / found.family_file)
        found = found.model_copy(update={"definition": file})
    if family is None:
        family = family_of(found, path)
    else:
        _check_family(path, found, family)
    for name, weight in found.weights.items():
        _check_weight(path, family, name, weight)
    _check_complete(path, family, found)
    if device is not None and device != found.device:
        raise WeightsDeviceError(str(path), found.device, device)
    return found


def _check_family(path: str | Path, found: FittedWeights, given: Family) -> None:
    """Check that a given family is that of the fit. A value without a source is the caller's own code."""
    if given.name != found.family:
        raise FamilyDiffersError(str(path), f"was fitted with the family '{found.family}', not with '{given.name}'")
    then, now = found.definition_sha256 or found.definition, given.sha256 or given.definition
    if not then or not now or then == now:
        return
    if found.family_file and not found.definition_sha256:
        raise FamilyDiffersError(str(path), "does not keep the SHA-256 of its family's file")
    raise FamilyDiffersError(
        str(path), f"was fitted with another version of the family '{given.name}' ({then:.60}, now {now:.60})"
    )


def _check_names(path: str | Path, found: FittedWeights) -> None:
    missing = sorted(set(found.features) - set(found.weights))
    extra = sorted(set(found.weights) - set(found.features))
    if missing or extra:
        said = [f"lacks {', '.join(missing)}"] * bool(missing)
        said += [f"has {', '.join(extra)}, which its own list of features does not"] * bool(extra)
        raise WeightsFileError(str(path), " and ".join(said))


def _check_complete(path: str | Path, family: Family, found: FittedWeights) -> None:
    """Refuse a file without a weight of a family of resources: an older version of the family did not have it."""
    missing = [one.name for one in family.weights if one.name not in found.weights] if family.resources else []
    if missing:
        problem = f"lacks {', '.join(missing)}: it is of an older version of {family.name}; fit the weights again"
        raise WeightsFileError(str(path), problem)


def _check_weight(path: str | Path, family: Family, name: str, weight: FittedWeight) -> None:
    own = {one.name: one for one in family.weights}
    if name not in own and not family.takes(name):
        raise WeightsFileError(str(path), f"has '{name}', no weight of {family.name}")
    low, high = -math.inf if family.plain_sum else 0.0, math.inf
    if name in own:
        low, high = own[name].lower, own[name].upper
    if not low <= weight.value <= high:
        raise WeightsFileError(str(path), f"has '{name}' = {weight.value!r}, not from {low} to {high}")
    try:
        unit = family.weight_unit(name)
    except UnknownFeatureError as error:
        raise WeightsFileError(str(path), f"has '{name}', which is no feature") from error
    if weight.unit != unit:
        raise WeightsFileError(str(path), f"has '{name}' in {weight.unit}, not {unit}")
