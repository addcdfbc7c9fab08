"""YAML files of facts: the devices of published papers, and the facts that a user writes.

A file has a ``value``, a ``unit`` and a ``source`` for each key under ``facts``. The file of a published device also
has ``name`` and ``platform``. All units are SI units (:data:`perfmodel.facts.fact.KEYS`).
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from importlib import resources
from pathlib import Path
from typing import Any

from perfmodel.documents import LIMITS, json_document, read_file, yaml_document
from perfmodel.errors import DocumentError, FactsFileError, FactsFormatError, StoreFormatError, UnknownDeviceNameError
from perfmodel.facts.device_facts import DeviceFacts
from perfmodel.facts.fact import Fact, checked_facts

FACTS_FILE = "facts.yaml"
"""Name of the file in a store's folder with the facts that a user writes."""

_FOLDER = "published"


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
    document = _mapping(file.read_bytes(), name)
    return DeviceFacts.from_mapping(
        document["name"], document["platform"], document.get("driver", ""), _facts(document, name)
    )


def read_facts(path: Path | str) -> Mapping[str, Fact]:
    """Read the facts of a YAML file that a user wrote, by key.

    A key of :data:`perfmodel.facts.fact.KEYS` has a fixed unit. Any other key belongs to a user's own family,
    and may have any unit of :data:`~perfmodel.facts.fact.UNITS`.

    Raises
    ------
    FactsFileError
        If the file cannot be read or is not YAML, or if a fact has no value, unit or source, or not the unit
        of its key.
    """
    name = str(path)
    try:
        return _facts(_mapping(read_file(path, LIMITS.yaml_bytes), name), name)
    except DocumentError as error:
        raise FactsFileError(name, error.problem) from error


def read_device(path: Path) -> DeviceFacts:
    """Read the facts that a device reports, from ``device.json``.

    Raises
    ------
    StoreFormatError
        If the file is no description of a device.
    """
    try:
        return DeviceFacts.from_json(json_document(read_file(path)))
    except (DocumentError, FactsFormatError) as error:
        raise StoreFormatError(path, 1, error.problem) from error


def _mapping(content: bytes, where: str) -> dict[str, Any]:
    document = yaml_document(content)
    if not isinstance(document, dict) or not isinstance(document.get("facts"), dict):
        raise FactsFileError(where, "has no mapping 'facts'")
    return document


def _facts(document: Mapping[str, Any], where: str) -> dict[str, Fact]:
    try:
        return checked_facts({key: _with_number(row) for key, row in document["facts"].items()})
    except DocumentError as error:
        raise FactsFileError(where, error.problem) from error


def _with_number(row: Any) -> Any:
    """Return a fact with its value as a number where YAML reads it, as 1e-7 without a point, as a word."""
    if isinstance(row, dict) and isinstance(row.get("value"), str):
        with suppress(ValueError):
            return {**row, "value": float(row["value"])}
    return row
