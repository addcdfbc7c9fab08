"""One fact of a device, the keys of facts that models use (with units and meanings), and checks of documents."""

import csv
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, Union

from perfmodel.documents import MOST_LANES, shortened
from perfmodel.errors import DocumentError

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


#: The keys of facts, which are the rows of ``keys.csv``.
KEYS: Mapping[str, Key] = MappingProxyType(_keys())
#: Facts that must be integers from 1 to these limits.
WHOLE: Mapping[str, float] = MappingProxyType(
    {"subgroup_size": MOST_LANES, "compute_units": math.inf, "vector_registers": math.inf}
)
_PARTS = ("value", "unit", "source")


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
