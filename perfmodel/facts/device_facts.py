"""The facts of a device: a value that is looked up by key, written as JSON and YAML, and named safely for files.

Also what distinguishes two devices, and the facts that no device reports and no kernel measures. A family that needs
one could not be fitted without it, so these are assumed where no file gives them. Each says in its source that it is
assumed, why, and where to write a better one.

A YAML file of facts has a ``value``, a ``unit`` and a ``source`` for each key under ``facts``; that of a published
device also has ``name`` and ``platform``. All units are SI units (:data:`perfmodel.facts.fact.KEYS`).
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from perfmodel import errors
from perfmodel.documents import LIMITS, Schema, json_document, one_line, read_file, yaml_document
from perfmodel.errors import DocumentError
from perfmodel.facts.fact import Fact, checked_facts
from perfmodel.values import FrozenValue

SCHEMA = "perfmodel.device/1"
_SCHEMA = Schema(SCHEMA, "write it again: perfmodel measure --store FOLDER")

FACTS_FILE = "facts.yaml"
#: File beside a device's weights with the roofs that its measured rows reached, in the form of :data:`FACTS_FILE`.
ROOFS_FILE = "roofs.yaml"
"""Name of the file in a store's folder with the facts that a user writes."""
_PUBLISHED = Path(__file__).parent / "published"

#: Facts that differ from run to run: PoCL reports the memory that is free at the moment, and the clock of a processor
#: depends on its load.
VARYING = frozenset({"clock_mhz", "global_memory_bytes", "max_alloc_bytes"})

#: Facts that tell devices of one name apart, such as virtual machines on processors of one brand.
TELLING = ("compute_units", "l1_told_bytes", "l2_told_bytes", "l3_told_bytes")

#: The first word of the source of a fact that is assumed.
ASSUMED = "assumed"
#: Work-groups that a compute unit of a GPU holds: the least that vendors give for their devices since 2012.
GROUPS_OF_A_GPU = 16
#: Work-items that a compute unit of a GPU holds, over those of the largest work-group.
ITEMS_OVER_GROUP = 2

_PLATFORM_NAMES = {
    "portable computing language": "pocl",
    "amd accelerated parallel processing": "amd",
    "nvidia cuda": "nvidia",
    "intel(r) opencl": "intel",
}
_DECORATIONS = re.compile(r"\((?:r|tm|c)\)|\b(?:cpu|processor)\b|^(?:pthread|cpu)-|@.*$", re.IGNORECASE)


@dataclass(frozen=True)
class DeviceFacts(FrozenValue):
    """All facts of one device.

    Parameters
    ----------
    name, platform, driver : str
        As OpenCL reports them.
    facts : tuple of (str, Fact)
        Sorted by key; :meth:`from_mapping` sorts them.

    Examples
    --------
    >>> facts = DeviceFacts.from_mapping(
    ...     "NVIDIA H200", "NVIDIA CUDA", "570.1",
    ...     {"compute_units": Fact(132, "", "CL_DEVICE_MAX_COMPUTE_UNITS")},
    ... )
    >>> facts.value("compute_units"), facts.slug
    (132, 'nvidia-h200')
    >>> DeviceFacts.from_json(facts.to_json()) == facts
    True
    """

    name: str
    platform: str
    driver: str
    facts: tuple[tuple[str, Fact], ...]

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((self.name, self.platform, self.driver, self.facts))  # what depends on a device is kept by it

    def __repr__(self) -> str:
        return one_line(f"<DeviceFacts of {self.name} ({self.platform}): {len(self.facts)} facts>")

    @classmethod
    def from_mapping(cls, name: str, platform: str, driver: str, facts: Mapping[str, Fact]) -> DeviceFacts:
        """Make the value from facts in any order."""
        return cls(name, platform, driver, tuple(sorted(facts.items())))

    def updated(self, facts: Mapping[str, Fact]) -> DeviceFacts:
        """Return the device with more facts; a new fact replaces the old one under the same key.

        Examples
        --------
        >>> device = DeviceFacts("H200", "NVIDIA CUDA", "570.1", (("banks", Fact(16, "", "guessed")),))
        >>> device.updated({"banks": Fact(32, "", "data sheet")}).fact("banks").source
        'data sheet'
        """
        return replace(self, facts=tuple(sorted({**dict(self.facts), **facts}.items())))

    @property
    def slug(self) -> str:
        """A name that is safe for files: the platform's short name and the device's name.

        Two equal cards in one machine have the same slug, and share their weights. The slug contains
        neither the driver's version nor the clock, so it stays the same when these change.

        Examples
        --------
        >>> DeviceFacts("cpu-haswell-Intel(R) Xeon(R) CPU @ 2.20GHz",
        ...             "Portable Computing Language", "5.0", ()).slug
        'pocl-haswell-intel-xeon'
        """
        vendor = _PLATFORM_NAMES.get(self.platform.strip().lower()) or _words(self.platform)[0]
        words = [word for word in _words(_DECORATIONS.sub(" ", self.name)) if word != vendor]
        return "-".join([vendor, *words])

    @property
    def recorded(self) -> str:
        """Who recorded the times of the device, and what is doubtful of them; "" where they were measured here."""
        return self.fact("recorded").source if "recorded" in self and self.value("recorded") else ""

    @property
    def hash(self) -> str:
        """SHA-256 of the name, the platform, the driver's version and all facts but :data:`VARYING` [hexadecimal]."""
        document = self.to_json()
        facts = document["facts"]
        document["facts"] = {key: fact for key, fact in facts.items() if key not in VARYING}
        return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()

    def fact(self, key: str) -> Fact:
        """Look up one fact, with its unit and source.

        Raises
        ------
        UnknownFactError
            If the device has no fact under this key.
        """
        if key not in self._by_key:
            raise errors.UnknownFactError(key, self.name, tuple(self))
        return self._by_key[key]

    def value(self, key: str) -> Any:
        """Look up the value of one fact; raises as :meth:`fact` does."""
        return self.fact(key).value

    def known(self, key: str, otherwise: Any = None) -> Any:
        """Look up the value of one fact; `otherwise` where it is not known."""
        return self.fact(key).value if key in self else otherwise

    def __iter__(self) -> Iterator[str]:
        return (key for key, _ in self.facts)

    def __contains__(self, key: object) -> bool:
        return key in self._by_key

    @cached_property
    def _by_key(self) -> Mapping[str, Fact]:
        return dict(reversed(self.facts))  # of a key that is there twice the first counts

    def to_json(self) -> dict[str, Any]:
        """Return a document for JSON, with schema ``perfmodel.device/1``."""
        rows = {}
        for key, fact in self.facts:
            value = list(fact.value) if isinstance(fact.value, tuple) else fact.value
            rows[key] = {"value": value, "unit": fact.unit, "source": fact.source}
        head = {"schema": SCHEMA, "name": self.name, "platform": self.platform, "driver": self.driver}
        return {**head, "slug": self.slug, "facts": rows}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> DeviceFacts:
        """Make the value from a document of :meth:`to_json`.

        Raises
        ------
        FactsFormatError
            If the document has another schema, or lacks a part.
        """
        try:
            _SCHEMA.check(document)
            name, platform, driver = (_word(document, part) for part in ("name", "platform", "driver"))
            rows = document.get("facts")
            if not isinstance(rows, dict):
                raise DocumentError("lacks 'facts', or they are no object")
            return cls.from_mapping(name, platform, driver, checked_facts(rows))
        except DocumentError as error:
            raise errors.FactsFormatError(error.problem, SCHEMA) from error


def _word(document: Mapping[str, Any], part: str) -> str:
    word = document.get(part)
    if not isinstance(word, str):
        raise DocumentError(f"lacks '{part}', or it is no text")
    return word


def _words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9.]*[a-z0-9]", text.lower()) or ["device"]


def differences(known: DeviceFacts, used: DeviceFacts) -> tuple[str, ...]:
    """Return what tells a known device from the one in use, in words; what one of them does not say is left out.

    Examples
    --------
    >>> differences(DeviceFacts("H200", "NVIDIA CUDA", "570.1", ()), DeviceFacts("H200", "NVIDIA CUDA", "580.2", ()))
    ("driver '570.1', here '580.2'",)
    """
    words = [(part, getattr(known, part), getattr(used, part)) for part in ("name", "platform", "driver")]
    differ = [f"{part} '{there}', here '{here}'" for part, there, here in words if there and here and there != here]
    both = [(key, known.value(key), used.value(key)) for key in TELLING if key in known and key in used]
    return (*differ, *(f"{key} {there}, here {here}" for key, there, here in both if there != here))


def assumed_facts(facts: DeviceFacts) -> dict[str, Fact]:
    """Return the facts that are assumed of a device, by key: those that it lacks of the following.

    ``max_groups_per_unit``
        A CPU's core runs one work-group at a time. Other devices: :data:`GROUPS_OF_A_GPU`.
    ``max_items_per_unit``
        On a CPU those of the largest work-group, on other devices :data:`ITEMS_OVER_GROUP` times as many. Not assumed
        where the largest work-group is not known.

    Nothing is assumed of a device whose type is not known.

    Examples
    --------
    >>> device = DeviceFacts("H200", "NVIDIA CUDA", "570.1", (("device_type", Fact("gpu", "", "CL_DEVICE_TYPE")),))
    >>> {key: fact.value for key, fact in assumed_facts(device).items()}
    {'max_groups_per_unit': 16}
    """
    known = dict(facts.facts)
    if "device_type" not in known:
        return {}
    cpu = known["device_type"].value == "cpu"
    groups, over = (1, 1) if cpu else (GROUPS_OF_A_GPU, ITEMS_OVER_GROUP)
    why = "a core of a CPU runs one work-group at a time" if cpu else "as most GPUs do"
    advice = f"{ASSUMED}: {why}; no query tells it, so write it into facts.yaml where you know better"
    assumed = {"max_groups_per_unit": Fact(groups, "", advice)}
    if "max_work_group_size" in known:
        largest = int(known["max_work_group_size"].value)  # type: ignore[arg-type]  # checked where it was read
        items = f"{advice} ({over} x CL_DEVICE_MAX_WORK_GROUP_SIZE)"
        assumed["max_items_per_unit"] = Fact(over * largest, "work-items", items)
    return {key: fact for key, fact in assumed.items() if key not in known}


def with_assumed_facts(facts: DeviceFacts) -> DeviceFacts:
    """Return a device with the facts that are assumed of it (:func:`assumed_facts`)."""
    return facts.updated(assumed_facts(facts))


def published_devices() -> tuple[str, ...]:
    """Return the names of all published devices, sorted.

    Examples
    --------
    >>> "gtx-480" in published_devices()
    True
    """
    return tuple(sorted(path.stem for path in _PUBLISHED.glob("*.yaml")))


def published(name: str) -> DeviceFacts:
    """Return the facts of a published device, each number with its source.

    Raises
    ------
    UnknownDeviceNameError
        If no published device has this name; the message lists all names.
    """
    if name not in published_devices():
        raise errors.UnknownDeviceNameError(name, published_devices())
    document = _mapping((_PUBLISHED / f"{name}.yaml").read_bytes(), name)
    facts = _facts(document, name)
    return DeviceFacts.from_mapping(document["name"], document["platform"], document.get("driver", ""), facts)


def read_facts(path: Path | str) -> Mapping[str, Fact]:
    """Read the facts of a YAML file that a user wrote, by key.

    A key of :data:`perfmodel.facts.fact.KEYS` has a fixed unit. Any other key belongs to a user's own family, and may
    have any unit of :data:`~perfmodel.facts.fact.UNITS`. With ``published: NAME``, the file's facts replace those of a
    published device, or are added to them.

    Raises
    ------
    FactsFileError
        If the file cannot be read or is not YAML, or if a fact lacks a part or has not the unit of its key.
    UnknownDeviceNameError
        If it names no published device.
    """
    name = str(path)
    try:
        return _facts(_mapping(read_file(path, LIMITS.yaml_bytes), name), name)
    except DocumentError as error:
        raise errors.FactsFileError(name, error.problem) from error


def read_device(path: Path) -> DeviceFacts:
    """Read the facts that a device reports, from ``device.json``.

    Raises
    ------
    StoreFormatError
        If the file is no description of a device.
    """
    try:
        return DeviceFacts.from_json(json_document(read_file(path)))
    except (DocumentError, errors.FactsFormatError) as error:
        raise errors.StoreFormatError(path, 1, error.problem) from error


def _mapping(content: bytes, where: str) -> dict[str, Any]:
    document = yaml_document(content)
    if not isinstance(document, dict) or not isinstance(document.get("facts"), dict):
        raise errors.FactsFileError(where, "has no mapping 'facts'")
    return document


def _facts(document: Mapping[str, Any], where: str) -> dict[str, Fact]:
    known = dict(published(document["published"]).facts) if "published" in document else {}
    try:
        return known | checked_facts({key: _with_number(row) for key, row in document["facts"].items()})
    except DocumentError as error:
        raise errors.FactsFileError(where, error.problem) from error


def _with_number(row: Any) -> Any:
    """Return a fact with its value as a number where YAML reads it, as 1e-7 without a point, as a word."""
    if isinstance(row, dict) and isinstance(row.get("value"), str):
        with suppress(ValueError):
            return {**row, "value": float(row["value"])}
    return row
