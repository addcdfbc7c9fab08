"""What a document must say of each fact, whether a user or a device wrote it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from perfmodel.documents import MOST_LANES, shortened
from perfmodel.errors import DocumentError
from perfmodel.facts.fact import Fact, FactValue
from perfmodel.facts.keys import KEYS, UNITS

WHOLE: Mapping[str, float] = MappingProxyType({"subgroup_size": MOST_LANES, "compute_units": math.inf})
"""Facts by which models divide: integers from 1 up to these."""

_PARTS = ("value", "unit", "source")


def checked_facts(rows: Mapping[str, Any]) -> dict[str, Fact]:
    """Return the facts of a document by key.

    Raises
    ------
    DocumentError
        If one has no value, unit or source, not the unit of its key, or a value that cannot be.

    Examples
    --------
    >>> checked_facts({"banks": {"value": 32, "unit": "", "source": "data sheet"}})["banks"].value
    32
    """
    return {key: _fact(shortened(key, quoted=False), key, row) for key, row in rows.items()}


def _fact(shown: str, key: str, row: Any) -> Fact:
    if not isinstance(row, dict) or set(row) != set(_PARTS):
        raise DocumentError(f"gives '{shown}' not exactly {', '.join(_PARTS)}")
    unit, source = row["unit"], row["source"]
    if key in KEYS and unit != KEYS[key].unit:
        raise DocumentError(f"gives '{shown}' in {shortened(unit)}, not in '{KEYS[key].unit}'")
    if unit not in UNITS:
        raise DocumentError(f"gives '{shown}' in {shortened(unit)}, which is none of {', '.join(filter(None, UNITS))}")
    if not isinstance(source, str) or not source.strip():
        raise DocumentError(f"gives '{shown}' without a source")
    value = _value(f"gives '{shown}' as {shortened(row['value'])}", key, row["value"])
    if unit == "share" and not (isinstance(value, int | float) and 0 <= value <= 1):
        raise DocumentError(f"gives '{shown}' as {shortened(value)}, no share from 0 to 1")
    if key in WHOLE and not (isinstance(value, int | float) and value % 1 == 0 and 1 <= value <= WHOLE[key]):
        upper = f"to {WHOLE[key]}" if math.isfinite(WHOLE[key]) else "up"
        raise DocumentError(f"gives '{shown}' as {shortened(value)}, no integer from 1 {upper}")
    return Fact(value, unit, source)


def _value(said: str, key: str, value: Any) -> FactValue:
    """Return a fact's value; under a key of ``KEYS`` it must be a number from zero up, or one of the key's words."""
    words = KEYS[key].words if key in KEYS else ()
    if words and value not in words:
        raise DocumentError(f"{said}, none of {', '.join(words)}")
    if isinstance(value, list) and all(type(one) is int for one in value):
        value = tuple(value)
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if number and not (math.isfinite(value) and value >= 0):
        raise DocumentError(f"{said}, no finite number from zero up")
    if not number and not words and (key in KEYS or not isinstance(value, str | bool | tuple)):
        raise DocumentError(f"{said}, no number")
    found: FactValue = value
    return found
