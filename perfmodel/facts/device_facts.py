"""The facts of a device: a frozen value, its JSON and YAML files, a safe name, and the keys of facts that models use.

A YAML file of facts has a ``value``, a ``unit`` and a ``source`` for each key under ``facts``. The file of a published
device also has its ``name`` and ``platform``. All units are SI units (:data:`KEYS`).
"""

import csv
import hashlib
import json
import math
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, Union

from perfmodel import documents
from perfmodel.documents import MOST_YAML_BYTES, Schema, json_document, one_line, read_file, shortened, yaml_document
from perfmodel.errors import DocumentError, FactsError, StoreError, UnknownNameError, listed
from perfmodel.values import FrozenValue

SCHEMA = "perfmodel.device/1"
_SCHEMA = Schema(SCHEMA, "write it again: perfmodel measure --store FOLDER")
FACTS_FILE = "facts.yaml"  # in a store's folder: the facts that a user writes
ROOFS_FILE = "roofs.yaml"  # in a device's folder, in the same form: the roofs that its measured rows reached
_PUBLISHED = Path(__file__).parent / "published"

#: Facts that differ from run to run: PoCL reports the memory that is free, and a processor's clock depends on its load.
VARYING = frozenset({"clock_mhz", "global_memory_bytes", "max_alloc_bytes"})
#: Facts that distinguish devices of one name, such as virtual machines on processors of one brand.
DISTINGUISHING = ("compute_units", "l1_told_bytes", "l2_told_bytes", "l3_told_bytes")
ASSUMED = "assumed"  # the first word of the source of an assumed fact
GROUPS_OF_A_GPU = 16  # work-groups that a compute unit holds: the fewest that vendors state for devices since 2012
ITEMS_OVER_GROUP = 2  # work-items that a compute unit of a GPU holds, over the items of its largest work-group

_PLATFORM_NAMES = {
    "portable computing language": "pocl", "amd accelerated parallel processing": "amd", "nvidia cuda": "nvidia",
    "intel(r) opencl": "intel",
}
_DECORATIONS = re.compile(r"\((?:r|tm|c)\)|\b(?:cpu|processor)\b|^(?:pthread|cpu)-|@.*$", re.IGNORECASE)

FactValue = Union[int, float, str, bool, tuple[int, ...]]  # noqa: UP007 -- evaluated, not annotated


@dataclass(frozen=True)
class Fact:
    """One fact of a device."""

    value: FactValue
    unit: str  #: empty for a pure number or a word
    source: str  #: where the value comes from: an OpenCL query, a data sheet, a measurement


class Key(NamedTuple):
    """Unit and meaning of the fact under a key, and the allowed words if its value is a word."""

    unit: str
    meaning: str
    words: tuple[str, ...] = ()


#: Units of facts; a share is from 0 to 1, and the last two are units of OpenCL.
UNITS = ("", "share", "B", "s", "Hz", "B/s", "operation/s", "registers", "work-items", "MHz", "ns")


def _keys() -> dict[str, Key]:
    with Path(__file__).with_name("keys.csv").open(encoding="utf-8", newline="") as file:
        return {key: Key(unit, meaning, tuple(words.split())) for key, unit, meaning, words in [*csv.reader(file)][1:]}


KEYS: Mapping[str, Key] = MappingProxyType(_keys())  #: The keys of facts, which are the rows of ``keys.csv``
#: Facts that must be integers from 1 to these limits.
WHOLE: Mapping[str, float] = MappingProxyType(
    {"subgroup_size": documents.MOST_LANES, "compute_units": math.inf, "vector_registers": math.inf}
)
_PARTS = ("value", "unit", "source")


@dataclass(frozen=True)
class DeviceFacts(FrozenValue):
    """All facts of one device. The name, platform and driver are as OpenCL reports them.

    >>> units = Fact(132, "", "CL_DEVICE_MAX_COMPUTE_UNITS")
    >>> facts = DeviceFacts.from_mapping("NVIDIA H200", "NVIDIA CUDA", "570.1", {"compute_units": units})
    >>> facts.value("compute_units"), facts.slug
    (132, 'nvidia-h200')
    """

    name: str
    platform: str
    driver: str
    facts: tuple[tuple[str, Fact], ...]  #: sorted by key

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:  # caches use devices as keys, and a device has many facts
        return hash((self.name, self.platform, self.driver, self.facts))

    def __repr__(self) -> str:
        return one_line(f"<DeviceFacts of {self.name} ({self.platform}): {len(self.facts)} facts>")

    @classmethod
    def from_mapping(cls, name: str, platform: str, driver: str, facts: Mapping[str, Fact]) -> "DeviceFacts":
        """Return a device with these facts, which may be in any order."""
        return cls(name, platform, driver, tuple(sorted(facts.items())))

    def updated(self, facts: Mapping[str, Fact]) -> "DeviceFacts":
        """Return the device with more facts. A new fact replaces the old one under the same key."""
        return replace(self, facts=tuple(sorted({**dict(self.facts), **facts}.items())))

    @property
    def slug(self) -> str:
        """A name that is safe for files: the platform's short name and the device's name, without version and clock."""
        vendor = _PLATFORM_NAMES.get(self.platform.strip().lower()) or _words(self.platform)[0]
        words = [word for word in _words(_DECORATIONS.sub(" ", self.name)) if word != vendor]
        return "-".join([vendor, *words])

    @property
    def recorded(self) -> str:
        """Who recorded the device's times and what is uncertain about these, or "" if perfmodel measured the times."""
        return self.fact("recorded").source if "recorded" in self and self.value("recorded") else ""

    @property
    def hash(self) -> str:
        """SHA-256 [hexadecimal] of name, platform, the driver's version and all facts except :data:`VARYING`."""
        document = self.to_json()
        facts = document["facts"]
        document["facts"] = {key: fact for key, fact in facts.items() if key not in VARYING}
        return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()

    def fact(self, key: str) -> Fact:
        """Return one fact, with its unit and source. Raise a FactsError if the device has none under this key."""
        if key not in self._by_key:
            raise FactsError(f"the device '{self.name}' has no fact '{key}'", f"its facts are {listed(self)}")
        return self._by_key[key]

    def value(self, key: str) -> Any:
        """Return the value of one fact. Errors are those of :meth:`fact`."""
        return self.fact(key).value

    def known(self, key: str, otherwise: Any = None) -> Any:
        """Return the value of one fact, or `otherwise` if the fact is not known."""
        return self.fact(key).value if key in self else otherwise

    def __iter__(self) -> Iterator[str]:
        return (key for key, _ in self.facts)

    def __contains__(self, key: object) -> bool:
        return key in self._by_key

    @cached_property
    def _by_key(self) -> Mapping[str, Fact]:
        return dict(reversed(self.facts))  # of two facts under one key the first counts

    def to_json(self) -> dict[str, Any]:
        """Return a document for JSON, with schema ``perfmodel.device/1``."""
        rows = {}
        for key, fact in self.facts:
            value = list(fact.value) if isinstance(fact.value, tuple) else fact.value
            rows[key] = {"value": value, "unit": fact.unit, "source": fact.source}
        head = {"schema": SCHEMA, "name": self.name, "platform": self.platform, "driver": self.driver}
        return {**head, "slug": self.slug, "facts": rows}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> "DeviceFacts":
        """Read a document of :meth:`to_json`. Raise a FactsError if it has another schema or lacks a part."""
        try:
            _SCHEMA.check(document)
            head = [document.get(part) for part in ("name", "platform", "driver")]
            rows = document.get("facts")
            if not all(isinstance(part, str) for part in head) or not isinstance(rows, dict):
                raise DocumentError("needs the strings 'name', 'platform' and 'driver' and the object 'facts'")
            name, platform, driver = map(str, head)
            return cls.from_mapping(name, platform, driver, checked_facts(rows))
        except DocumentError as error:
            advice = f"give a document of schema '{SCHEMA}', as 'perfmodel devices --json' writes it"
            raise FactsError(f"the description of a device {error.problem}", advice) from error


def _words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9.]*[a-z0-9]", text.lower()) or ["device"]


def differences(known: DeviceFacts, used: DeviceFacts) -> tuple[str, ...]:
    """Return how a known device differs from the device in use. A fact is compared only if both devices have it.

    >>> differences(DeviceFacts("H200", "NVIDIA CUDA", "570.1", ()), DeviceFacts("H200", "NVIDIA CUDA", "580.2", ()))
    ("driver '570.1', here '580.2'",)
    """
    parts = [(part, getattr(known, part), getattr(used, part)) for part in ("name", "platform", "driver")]
    differ = [f"{part} '{there}', here '{here}'" for part, there, here in parts if there and here and there != here]
    both = [(key, known.value(key), used.value(key)) for key in DISTINGUISHING if key in known and key in used]
    return (*differ, *(f"{key} {there}, here {here}" for key, there, here in both if there != here))


def assumed_facts(facts: DeviceFacts) -> dict[str, Fact]:
    """Return, by key, values for facts that a device lacks and that neither a device nor a kernel gives.

    ``max_groups_per_unit`` is 1 on a CPU, and otherwise :data:`GROUPS_OF_A_GPU`. ``max_items_per_unit`` is the number
    of work-items of the largest work-group, except on a CPU times :data:`ITEMS_OVER_GROUP`. A device without
    ``device_type`` gets no facts.
    """
    if "device_type" not in facts:
        return {}
    cpu = facts.value("device_type") == "cpu"
    groups, over = (1, 1) if cpu else (GROUPS_OF_A_GPU, ITEMS_OVER_GROUP)
    why = "a core of a CPU runs one work-group at a time" if cpu else "as most GPUs do"
    advice = f"{ASSUMED}: {why}; no query reports it, so write it into facts.yaml where you know better"
    assumed = {"max_groups_per_unit": Fact(groups, "", advice)}
    if "max_work_group_size" in facts:
        items = f"{advice} ({over} x CL_DEVICE_MAX_WORK_GROUP_SIZE)"
        assumed["max_items_per_unit"] = Fact(over * int(facts.value("max_work_group_size")), "work-items", items)
    return {key: fact for key, fact in assumed.items() if key not in facts}


def with_assumed_facts(facts: DeviceFacts) -> DeviceFacts:
    """Return a device with its assumed facts (:func:`assumed_facts`)."""
    return facts.updated(assumed_facts(facts))


def published_devices() -> tuple[str, ...]:
    """Return the sorted names of all published devices."""
    return tuple(sorted(path.stem for path in _PUBLISHED.glob("*.yaml")))


def published(name: str) -> DeviceFacts:
    """Return the facts of a published device. Raise an UnknownNameError if no device has this name."""
    if name not in published_devices():
        raise UnknownNameError(f"'{name}' is not a published device", f"choose among {listed(published_devices())}")
    document = _mapping((_PUBLISHED / f"{name}.yaml").read_bytes())
    return DeviceFacts.from_mapping(document["name"], document["platform"], document["driver"], _facts(document))


def read_facts(path: Path | str) -> Mapping[str, Fact]:
    """Read the facts of a YAML file that a user wrote, by key.

    A key of :data:`KEYS` has a fixed unit. Any other key belongs to a user's own family and may
    have any unit of :data:`UNITS`. With ``published: NAME``, the file's facts replace or complete
    the published ones. Raise a FactsError if the file is not valid, and an UnknownNameError if no published device has
    the name.
    """
    try:
        return _facts(_mapping(read_file(path, MOST_YAML_BYTES)))
    except DocumentError as error:
        advice = (
            "write under 'facts' a line for each, such as 'clock_hz: {value: 2.6e+9, unit: Hz, source: lscpu}' "
            "(docs/facts.md lists keys and units)"
        )
        raise FactsError(f"the facts in {path}: the file {error.problem}", advice) from error


def read_device(path: Path) -> DeviceFacts:
    """Read ``device.json``, the facts that a device reports. Raise a StoreError if the file cannot be read."""
    try:
        return DeviceFacts.from_json(json_document(read_file(path)))
    except (DocumentError, FactsError) as error:
        problem = error.problem if isinstance(error, FactsError) else f"the document {error.problem}"
        raise StoreError(f"'{path}': {problem}", "copy the file again, or remove it and measure again") from error


def _mapping(content: bytes) -> dict[str, Any]:
    document = yaml_document(content)
    if not isinstance(document, dict) or not isinstance(document.get("facts"), dict):
        raise DocumentError("has no mapping 'facts'")
    return document


def _facts(document: Mapping[str, Any]) -> dict[str, Fact]:
    known = dict(published(document["published"]).facts) if "published" in document else {}
    return known | checked_facts({key: _with_number(row) for key, row in document["facts"].items()})


def _with_number(row: Any) -> Any:
    if isinstance(row, dict) and isinstance(row.get("value"), str):  # YAML reads 1e-7 as a string
        with suppress(ValueError):
            return {**row, "value": float(row["value"])}
    return row


def checked_facts(rows: Mapping[str, Any]) -> dict[str, Fact]:
    """Return the facts of a document by key. Raise a DocumentError if a part is missing or not allowed."""
    return {key: _fact(shortened(key, quoted=False), key, row) for key, row in rows.items()}


def _fact(shown: str, key: str, row: Any) -> Fact:
    if not isinstance(row, dict) or set(row) != set(_PARTS):
        raise DocumentError(f"must have exactly {', '.join(_PARTS)} for '{shown}'")
    unit, source = row["unit"], row["source"]
    if key in KEYS and unit != KEYS[key].unit:
        raise DocumentError(f"has '{shown}' in {shortened(unit)}, not in '{KEYS[key].unit}'")
    if unit not in UNITS:
        raise DocumentError(f"has '{shown}' in {shortened(unit)}; units are {', '.join(filter(None, UNITS))}")
    if not isinstance(source, str) or not source.strip():
        raise DocumentError(f"has '{shown}' without a source")
    value = _value(f"has {shortened(row['value'])} for '{shown}'", key, row["value"])
    if unit == "share" and not (isinstance(value, int | float) and 0 <= value <= 1):
        raise DocumentError(f"has {shortened(value)} for '{shown}', not a share from 0 to 1")
    if key in WHOLE and not (isinstance(value, int | float) and value % 1 == 0 and 1 <= value <= WHOLE[key]):
        upper = f"to {WHOLE[key]}" if math.isfinite(WHOLE[key]) else "up"
        raise DocumentError(f"has {shortened(value)} for '{shown}', not an integer from 1 {upper}")
    return Fact(value, unit, source)


def _value(found: str, key: str, value: Any) -> FactValue:
    words = KEYS[key].words if key in KEYS else ()
    if words and value not in words:
        raise DocumentError(f"{found}, not one of {', '.join(words)}")
    if isinstance(value, list) and all(type(number) is int for number in value):
        value = tuple(value)
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if number and not (math.isfinite(value) and value >= 0):
        raise DocumentError(f"{found}, not a finite number from 0 up")
    if not number and not words and (key in KEYS or not isinstance(value, str | bool | tuple)):
        raise DocumentError(f"{found}, not a number")
    checked: FactValue = value
    return checked
