"""Reading a weights file and checking it against its family."""

from __future__ import annotations

import json
from pathlib import Path

from pydantic import ValidationError

from perfmodel.errors import UnknownFeatureError, WeightsDeviceError, WeightsFileError
from perfmodel.fitting.weights_file import SCHEMA, FittedWeight, FittedWeights, family_of
from perfmodel.models.model import Family


def read_weights(path: str | Path, device: str | None = None, family: Family | None = None) -> FittedWeights:
    """Read a weights file and check it against its family, which is needed if it cannot be found by its name.

    With `device`, the weights must belong to the device of that name.

    Raises
    ------
    WeightsFileError
        If it is missing, is no weights file of this schema, lacks a weight, or has one that does not belong to
        the family or has another unit.
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
