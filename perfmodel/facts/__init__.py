"""What is known of a device, each number with its unit and its source.

A model may read only what stands here, so that a prediction can say where every number that
went into it came from.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Union

from perfmodel.errors import FactsFormatError, UnknownFactError

FactValue = Union[int, float, str, bool, tuple[int, ...]]  # noqa: UP007 -- evaluated, not annotated

SCHEMA = "perfmodel.device/1"

#: Facts that a device tells differently from run to run: PoCL reckons with the memory that is
#: free just then, and a processor's clock follows its load.
VARYING = frozenset({"clock_mhz", "global_memory_bytes", "max_alloc_bytes"})

_PLATFORM_NAMES = {
    "portable computing language": "pocl",
    "amd accelerated parallel processing": "amd",
    "nvidia cuda": "nvidia",
    "intel(r) opencl": "intel",
}
_DECORATIONS = re.compile(r"\((?:r|tm|c)\)|\b(?:cpu|processor)\b|^(?:pthread|cpu)-|@.*$", re.IGNORECASE)


@dataclass(frozen=True)
class Fact:
    """One thing known of a device.

    Parameters
    ----------
    value : int, float, str, bool or tuple of int
        The thing itself.
    unit : str
        Its unit; empty for a pure number or a word.
    source : str
        Who says so: the OpenCL query, a data sheet, a measurement.
    """

    value: FactValue
    unit: str
    source: str


@dataclass(frozen=True)
class DeviceFacts:
    """All that is known of one device.

    Parameters
    ----------
    name, platform, driver : str
        As OpenCL gives them.
    facts : tuple of (str, Fact)
        Sorted by key, as :meth:`from_mapping` does it.

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

    @classmethod
    def from_mapping(
        cls, name: str, platform: str, driver: str, facts: Mapping[str, Fact]
    ) -> DeviceFacts:
        """Make the value from facts in any order."""
        return cls(name, platform, driver, tuple(sorted(facts.items())))

    def updated(self, facts: Mapping[str, Fact]) -> DeviceFacts:
        """Return the device with more facts; of two under one key the new one counts.

        Examples
        --------
        >>> device = DeviceFacts("H200", "NVIDIA CUDA", "570.1", (("banks", Fact(16, "", "guessed")),))
        >>> device.updated({"banks": Fact(32, "", "data sheet")}).fact("banks").source
        'data sheet'
        """
        return replace(self, facts=tuple(sorted({**dict(self.facts), **facts}.items())))

    @property
    def slug(self) -> str:
        """The device's file-safe name: the platform's short name and the device's own.

        It names the kind of device: two equal cards in one machine share it, and so do their
        weights. It holds neither driver version nor clock, and so stays when those change.

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
        """SHA-256 of all that stays from run to run, the driver's version included [hexadecimal].

        Facts named in :data:`VARYING` do not count.
        """
        document = self.to_json()
        facts = document["facts"]
        document["facts"] = {key: fact for key, fact in facts.items() if key not in VARYING}
        return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()

    def fact(self, key: str) -> Fact:
        """Look one fact up, with its unit and source.

        Raises
        ------
        UnknownFactError
            If nothing is known under this key.
        """
        for known, fact in self.facts:
            if known == key:
                return fact
        raise UnknownFactError(key, self.name, tuple(self))

    def value(self, key: str) -> Any:
        """Look one fact's value up; raises as :meth:`fact` does."""
        return self.fact(key).value

    def __iter__(self) -> Iterator[str]:
        return (key for key, _ in self.facts)

    def __contains__(self, key: object) -> bool:
        return any(known == key for known, _ in self.facts)

    def to_json(self) -> dict[str, Any]:
        """Give a JSON-able document, schema ``perfmodel.device/1``."""
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
        """Read what :meth:`to_json` gave.

        Raises
        ------
        FactsFormatError
            If the document has another schema, or lacks a part.
        """
        found = document.get("schema")
        if found != SCHEMA:
            raise FactsFormatError(f"has schema {found!r}", SCHEMA)
        try:
            facts = {key: _read_fact(row) for key, row in document["facts"].items()}
            return cls.from_mapping(
                document["name"], document["platform"], document["driver"], facts
            )
        except KeyError as error:
            raise FactsFormatError(f"lacks {error}", SCHEMA) from error


def _read_fact(row: Mapping[str, Any]) -> Fact:
    value = row["value"]
    return Fact(tuple(value) if isinstance(value, list) else value, row["unit"], row["source"])


def _words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9.]*[a-z0-9]", text.lower()) or ["device"]
