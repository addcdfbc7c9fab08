"""Keys of facts and their units; facts of YAML and of JSON are checked alike."""

from __future__ import annotations

import json
import re

import pytest

from perfmodel.errors import FactsFileError, FactsFormatError
from perfmodel.facts import KEYS, UNITS, DeviceFacts, read_facts


def test_keys_have_known_units():
    assert {one.unit for one in KEYS.values()} <= set(UNITS)


def test_the_end_of_a_key_says_its_unit():
    units = {"_s": {"s", "B/s", "operation/s"}, "_bytes": {"B"}, "_hz": {"Hz"}, "_per_s": {"B/s", "operation/s"}}
    for key, one in KEYS.items():
        for end, allowed in units.items():
            assert not key.endswith(end) or one.unit in allowed, key


DEVICE = {"schema": "perfmodel.device/1", "name": "d", "platform": "p", "driver": "1"}


@pytest.mark.parametrize(
    ("key", "row", "said"),
    [
        ("banks", {"value": 32, "unit": ""}, "gives 'banks' not exactly value, unit, source"),
        ("clock_hz", {"value": 1e9, "unit": "MHz", "source": "x"}, "gives 'clock_hz' in 'MHz', not in 'Hz'"),
        ("mine", {"value": 1, "unit": "furlong", "source": "x"}, "which is none of share, B"),
        ("banks", {"value": 32, "unit": "", "source": ""}, "gives 'banks' without a source"),
        ("banks", {"value": True, "unit": "", "source": "x"}, "gives 'banks' as True, no number"),
        ("banks", {"value": -1, "unit": "", "source": "x"}, "gives 'banks' as -1, no finite number from zero up"),
        ("l2_miss_ratio", {"value": 1.5, "unit": "share", "source": "x"}, "as 1.5, no share from 0 to 1"),
        ("subgroup_size", {"value": 0, "unit": "work-items", "source": "x"}, "as 0, no integer from 1 to 1024"),
        ("subgroup_size", {"value": 2.5, "unit": "work-items", "source": "x"}, "as 2.5, no integer from 1 to 1024"),
        ("subgroup_size", {"value": 4096, "unit": "work-items", "source": "x"}, "as 4096, no integer from 1 to 1024"),
        ("compute_units", {"value": 0, "unit": "", "source": "x"}, "as 0, no integer from 1 up"),
    ],
)
def test_a_fact_that_cannot_be(tmp_path, key, row, said):
    (tmp_path / "facts.yaml").write_text(json.dumps({"facts": {key: row}}))
    with pytest.raises(FactsFileError, match=re.escape(said)):
        read_facts(tmp_path / "facts.yaml")
    with pytest.raises(FactsFormatError, match=re.escape(said)):
        DeviceFacts.from_json({**DEVICE, "facts": {key: row}})


@pytest.mark.parametrize("change", [{"name": 3}, {"platform": None}, {"facts": []}, {"facts": {"banks": 32}}])
def test_a_description_of_other_types_is_refused(change):
    with pytest.raises(FactsFormatError):
        DeviceFacts.from_json({**DEVICE, "facts": {}, **change})
