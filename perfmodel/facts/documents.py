"""YAML files of facts: the devices of published papers, and the facts that a user writes.

A file has a ``value``, a ``unit`` and a ``source`` for each key under ``facts``. The file of a published device also
has ``name`` and ``platform``. All units are SI units (:data:`perfmodel.facts.keys.KEYS`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from importlib import resources
from pathlib import Path
from typing import Any

import yaml

from perfmodel.errors import FactsFileError, UnknownDeviceNameError
from perfmodel.facts.device_facts import DeviceFacts, Fact, FactValue
from perfmodel.facts.keys import KEYS, UNITS

FACTS_FILE = "facts.yaml"
"""Name of the file in a store's folder with the facts that a user writes."""

_FOLDER = "published"
_PARTS = ("value", "unit", "source")


def published_devices() -> tuple[str, ...]:
    """Return the names of all published devices, sorted.

    Examples
    --------
    >>> "gtx-480" in published_devices()
    True
    """
    files = resources.files("perfmodel.facts").joinpath(_FOLDER).iterdir()
    return tuple(sorted(Path(file.name).stem for file in files if file.name.endswith(".yaml")))


def published(name: str) -> DeviceFacts:
    """Return the facts of a published device, each number with its source.

    Raises
    ------
    UnknownDeviceNameError
        If no published device has this name; the message lists all names.
    """
    if name not in published_devices():
        raise UnknownDeviceNameError(name, published_devices())
    file = resources.files("perfmodel.facts").joinpath(_FOLDER).joinpath(f"{name}.yaml")
    document = _mapping(file.read_text(encoding="utf-8"), name)
    return DeviceFacts.from_mapping(
        document["name"], document["platform"], document.get("driver", ""), _facts(document, name)
    )


def read_facts(path: Path | str) -> Mapping[str, Fact]:
    """Read the facts of a YAML file that a user wrote, by key.

    A key of :data:`perfmodel.facts.keys.KEYS` has a fixed unit. Any other key belongs to a user's own family,
    and may have any unit of :data:`~perfmodel.facts.keys.UNITS`.

    Raises
    ------
    FactsFileError
        If the file cannot be read or is not YAML, or if a fact has no value, unit or source, or not the unit
        of its key.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise FactsFileError(str(path), f"cannot be read ({error})") from error
    return _facts(_mapping(text, str(path)), str(path))


def _mapping(text: str, where: str) -> dict[str, Any]:
    try:
        document = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise FactsFileError(where, f"is no YAML: {error}") from error
    if not isinstance(document, dict) or not isinstance(document.get("facts"), dict):
        raise FactsFileError(where, "has no mapping 'facts'")
    return document


def _facts(document: Mapping[str, Any], where: str) -> dict[str, Fact]:
    return {str(key): _fact(str(key), row, where) for key, row in document["facts"].items()}


def _fact(key: str, row: Any, where: str) -> Fact:
    if not isinstance(row, dict) or set(row) != set(_PARTS):
        raise FactsFileError(where, f"gives '{key}' not exactly {', '.join(_PARTS)}")
    unit, source = row["unit"], row["source"]
    if key in KEYS and unit != KEYS[key].unit:
        raise FactsFileError(where, f"gives '{key}' in '{unit}', not in '{KEYS[key].unit}'")
    if unit not in UNITS:
        raise FactsFileError(where, f"gives '{key}' in '{unit}', which is none of {', '.join(filter(None, UNITS))}")
    if not isinstance(source, str) or not source.strip():
        raise FactsFileError(where, f"gives '{key}' without a source")
    value = _value(key, row["value"], where)
    if unit == "share" and not (isinstance(value, int | float) and 0 <= value <= 1):
        raise FactsFileError(where, f"gives '{key}' as {value!r}, no share from 0 to 1")
    return Fact(value, unit, source)


def _value(key: str, value: Any, where: str) -> FactValue:
    """Return a fact's value; under a key of ``KEYS`` it must be a number from zero up."""
    if isinstance(value, str):
        with suppress(ValueError):
            value = float(value)  # YAML reads 1e-7, which has no point, as a word
    if isinstance(value, list) and all(isinstance(one, int) for one in value):
        value = tuple(value)
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if number and not (math.isfinite(value) and value >= 0):
        raise FactsFileError(where, f"gives '{key}' as {value!r}, no finite number from zero up")
    if not number and (key in KEYS or not isinstance(value, str | bool | tuple)):
        raise FactsFileError(where, f"gives '{key}' as {value!r}, no number")
    found: FactValue = value
    return found
