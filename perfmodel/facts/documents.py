"""Devices that papers give numbers of, and facts that a person writes down, as YAML.

A file holds ``name``, ``platform`` and ``driver`` of the device, and under ``facts`` for each key a
``value``, its ``unit`` and its ``source``.  Everything is in SI units.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

import yaml

from perfmodel.errors import FactsFormatError, UnknownDeviceNameError
from perfmodel.facts import SCHEMA, DeviceFacts, Fact

_FOLDER = "published"
_PARTS = ("value", "unit", "source")


def published_devices() -> tuple[str, ...]:
    """Return the names that :func:`published` knows, sorted.

    Examples
    --------
    >>> "gtx-480" in published_devices()
    True
    """
    files = resources.files("perfmodel.facts").joinpath(_FOLDER).iterdir()
    return tuple(sorted(Path(file.name).stem for file in files if file.name.endswith(".yaml")))


def published(name: str) -> DeviceFacts:
    """Return what the papers say of a device, each number with its source.

    Raises
    ------
    UnknownDeviceNameError
        If no paper's device is called so; the message lists those that are.
    """
    if name not in published_devices():
        raise UnknownDeviceNameError(name, published_devices())
    file = resources.files("perfmodel.facts").joinpath(_FOLDER, f"{name}.yaml")
    document = _mapping(file.read_text(encoding="utf-8"), name)
    return DeviceFacts.from_mapping(
        document["name"], document["platform"], document.get("driver", ""), _facts(document, name)
    )


def read_facts(path: Path | str) -> Mapping[str, Fact]:
    """Read the facts of a YAML file that a person wrote, by key.

    Raises
    ------
    FactsFormatError
        If the file is no YAML, or a fact lacks its value, unit or source.
    """
    return _facts(_mapping(Path(path).read_text(encoding="utf-8"), str(path)), str(path))


def _mapping(text: str, where: str) -> dict[str, Any]:
    try:
        document = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise FactsFormatError(f"({where}) is no YAML: {error}", SCHEMA) from error
    if not isinstance(document, dict) or not isinstance(document.get("facts"), dict):
        raise FactsFormatError(f"({where}) has no mapping 'facts'", SCHEMA)
    return document


def _facts(document: Mapping[str, Any], where: str) -> dict[str, Fact]:
    found = {}
    for key, row in document["facts"].items():
        if not isinstance(row, dict) or set(row) != set(_PARTS):
            raise FactsFormatError(f"({where}): '{key}' needs exactly {', '.join(_PARTS)}", SCHEMA)
        value = row["value"]
        found[str(key)] = Fact(tuple(value) if isinstance(value, list) else value, row["unit"], row["source"])
    return found
