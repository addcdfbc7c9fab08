"""Keys of facts: their units, and the page that lists them."""

from __future__ import annotations

import re
from pathlib import Path

from perfmodel.facts.keys import KEYS, UNITS

ROOT = Path(__file__).parents[2]


def test_the_page_lists_every_key():
    page = (ROOT / "docs" / "facts.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| (.*?) \| (.*?) \|$", page, re.MULTILINE)
    expected = [(key, one.unit or "1", one.meaning) for key, one in sorted(KEYS.items())]
    assert expected == rows
    assert {one.unit for one in KEYS.values()} <= set(UNITS)


def test_the_end_of_a_key_says_its_unit():
    units = {"_s": {"s", "B/s", "operation/s"}, "_bytes": {"B"}, "_hz": {"Hz"}, "_per_s": {"B/s", "operation/s"}}
    for key, one in KEYS.items():
        for end, allowed in units.items():
            assert not key.endswith(end) or one.unit in allowed, key
