"""Reading a weights file and checking it against its family."""

from __future__ import annotations

import math
import os
from pathlib import Path

from perfmodel.documents import Schema, read_file, reading, value_of
from perfmodel.errors import (
    DocumentError,
    FactsFormatError,
    FamilyDiffersError,
    UnknownFeatureError,
    WeightsDeviceError,
    WeightsFileError,
)
from perfmodel.facts import DeviceFacts
from perfmodel.fitting.weights_file import SCHEMA, FittedWeight, FittedWeights, family_of, folder_of
from perfmodel.models.model import Family

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
