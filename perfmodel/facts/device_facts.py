"""The facts of a device: a value that is looked up by key, written as JSON, and named safely for files."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from perfmodel.display import one_line
from perfmodel.documents import Schema
from perfmodel.errors import DocumentError, FactsFormatError, UnknownFactError
from perfmodel.facts.checks import checked_facts
from perfmodel.facts.fact import Fact
from perfmodel.lazy import Lazy, cached_property

SCHEMA = "perfmodel.device/1"
_SCHEMA = Schema(SCHEMA, "write it again: perfmodel measure --store FOLDER")

#: Facts that differ from run to run: PoCL reports the memory that is free at the moment, and the clock of a processor
#: depends on its load.
VARYING = frozenset({"clock_mhz", "global_memory_bytes", "max_alloc_bytes"})

_PLATFORM_NAMES = {
    "portable computing language": "pocl",
    "amd accelerated parallel processing": "amd",
    "nvidia cuda": "nvidia",
    "intel(r) opencl": "intel",
}
_DECORATIONS = re.compile(r"\((?:r|tm|c)\)|\b(?:cpu|processor)\b|^(?:pthread|cpu)-|@.*$", re.IGNORECASE)


@dataclass(frozen=True)
class DeviceFacts(Lazy):
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
        found = self._by_key.get(key)
        if found is None:
            raise UnknownFactError(key, self.name, tuple(self))
        return found

    def value(self, key: str) -> Any:
        """Look up the value of one fact; raises as :meth:`fact` does."""
        return self.fact(key).value

    def __iter__(self) -> Iterator[str]:
        return (key for key, _ in self.facts)

    def __contains__(self, key: object) -> bool:
        return key in self._by_key

    @cached_property
    def _by_key(self) -> Mapping[str, Fact]:
        return dict(reversed(self.facts))  # of a key that is there twice the first counts

    def to_json(self) -> dict[str, Any]:
        """Return a document for JSON, with schema ``perfmodel.device/1``."""
        return {
            "schema": SCHEMA,
            "name": self.name,
            "platform": self.platform,
            "driver": self.driver,
            "slug": self.slug,
            "facts": {
                key: {
                    "value": list(fact.value) if isinstance(fact.value, tuple) else fact.value,
                    "unit": fact.unit,
                    "source": fact.source,
                }
                for key, fact in self.facts
            },
        }

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
            raise FactsFormatError(error.problem, SCHEMA) from error


def _word(document: Mapping[str, Any], part: str) -> str:
    found = document.get(part)
    if not isinstance(found, str):
        raise DocumentError(f"lacks '{part}', or it is no text")
    return found


def _words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9.]*[a-z0-9]", text.lower()) or ["device"]
