"""The file that keeps fitted weights, ``perfmodel.weights/2``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from perfmodel.errors import UnknownFeatureError, WeightsDeviceError, WeightsFileError
from perfmodel.fitting.linear.diagnosis import Mark
from perfmodel.fitting.options import FitOptions
from perfmodel.fitting.uncertainty.conformal import Conformal
from perfmodel.fitting.uncertainty.measured_range import Measured
from perfmodel.io import write_whole
from perfmodel.models import Family, find_family
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
    standard_error: Finite | None = None
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
        What a user of the weights should know, one sentence each.
    features
        Names of all weights, so that none can go missing unseen.
    weights
        For each of them its weight.
    conformal
        What prediction intervals are made from.
    measured
        Range of what was measured.
    definition
        What the family is made from, if it is a user's own (:attr:`perfmodel.models.Family.definition`).
    facts
        What was known of the device, for families whose quantities ask for it: a prediction uses what
        the fit did. A document ``perfmodel.device/1``.
    """

    model_config = STRICT
    schema_: Literal["perfmodel.weights/2"] = Field(
        default="perfmodel.weights/2", validation_alias="schema", serialization_alias="schema"
    )
    family: str
    device: str
    subgroup_size: int
    options: FitOptions
    rows: int
    measurements: str
    rank: int
    condition: Finite
    degrees_of_freedom: Finite
    converged: bool
    residuals: Residuals
    notes: tuple[str, ...]
    features: tuple[str, ...]
    weights: dict[str, FittedWeight]
    conformal: Conformal | None = None
    measured: Measured | None = None
    definition: str = ""
    facts: dict[str, Any] | None = None

    @property
    def nonnegative(self) -> bool:
        """Whether weights below zero were ruled out."""
        return self.options.nonnegative

    def save(self, path: str | Path) -> None:
        """Write the weights as JSON, whole or not at all.

        Raises
        ------
        OutputError
            If the file cannot be written.
        """
        data = self.model_dump(mode="json", by_alias=True)
        write_whole(path, (json.dumps(data, indent=2) + "\n").encode())


def family_of(found: FittedWeights) -> Family:
    """Return the family that weights belong to.

    Raises
    ------
    UnknownFamilyError
        If there is none of that name.
    FamilyFileError, ExpressionError
        If it is a user's own, and its file or expression cannot be used.
    """
    if not found.definition.startswith(EXPRESSION):
        return find_family(found.definition or found.family)
    units = (Weight(name, weight.unit) for name, weight in found.weights.items())
    return Family.from_expression(found.definition.removeprefix(EXPRESSION), found.family, weights=units)


def read_weights(
    path: str | Path, device: str | None = None, family: Family | None = None
) -> FittedWeights:
    """Read a weights file and check it against its family.

    Parameters
    ----------
    path
        The file.
    device
        Name of the device that the weights must belong to, if that matters.
    family
        Their family, if it cannot be found by its name.

    Raises
    ------
    WeightsFileError
        If it is missing, is no weights file of this schema, lacks a weight, or has one that is not
        one of the family's or in another unit.
    WeightsDeviceError
        If it belongs to another device.
    UnknownFamilyError, FamilyFileError, ExpressionError
        If its family does not exist.
    """
    try:
        text = Path(path).read_bytes()
        _check_schema(path, text)
        found = FittedWeights.model_validate_json(text)
    except OSError as error:
        raise WeightsFileError(str(path), f"cannot be read ({error.strerror})") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the document"
        raise WeightsFileError(str(path), f"is not valid at {where}: {first['msg']}") from error
    _check_names(path, found)
    family = family or family_of(found)
    for name, weight in found.weights.items():
        _check_weight(path, family, name, weight)
    if device is not None and device != found.device:
        raise WeightsDeviceError(str(path), found.device, device)
    return found


def _check_schema(path: str | Path, text: bytes) -> None:
    try:
        document = json.loads(text)
    except ValueError:
        return  # pydantic says what is wrong with it
    schema = document.get("schema") if isinstance(document, dict) else None
    if schema == "perfmodel.weights/1":
        raise WeightsFileError(
            str(path),
            f"has the old schema {schema}, without standard errors; this is {SCHEMA}: fit the "
            "measurements again (perfmodel fit --from the folder with measurements.jsonl)",
        )


def _check_names(path: str | Path, found: FittedWeights) -> None:
    missing = sorted(set(found.features) - set(found.weights))
    extra = sorted(set(found.weights) - set(found.features))
    if missing or extra:
        said = [f"lacks {', '.join(missing)}"] * bool(missing)
        said += [f"has {', '.join(extra)}, which its own list of features does not"] * bool(extra)
        raise WeightsFileError(str(path), " and ".join(said))


def _check_weight(path: str | Path, family: Family, name: str, weight: FittedWeight) -> None:
    own = {one.name for one in family.weights}
    if name not in own and not family.takes(name):
        raise WeightsFileError(str(path), f"has '{name}', no weight of {family.name}")
    try:
        unit = family.weight_unit(name)
    except UnknownFeatureError as error:
        raise WeightsFileError(str(path), f"has '{name}', which is no feature") from error
    if weight.unit != unit:
        raise WeightsFileError(str(path), f"has '{name}' in {weight.unit}, not {unit}")
