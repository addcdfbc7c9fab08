"""Facts that are assumed where nobody knows them."""

from __future__ import annotations

import pytest

from perfmodel.facts import DeviceFacts, Fact
from perfmodel.facts.assumed import assumed_facts, with_assumed_facts
from perfmodel.facts.keys import KEYS


def device(**facts):
    return DeviceFacts.from_mapping("d", "p", "1", {key: Fact(value, "", "told") for key, value in facts.items()})


@pytest.mark.parametrize(("kind", "groups", "items"), [("cpu", 1, 1024), ("gpu", 16, 2048), ("accelerator", 16, 2048)])
def test_what_a_compute_unit_holds(kind, groups, items):
    known = with_assumed_facts(device(device_type=kind, max_work_group_size=1024))
    assert (groups, items) == (known.value("max_groups_per_unit"), known.value("max_items_per_unit"))
    for key in ("max_groups_per_unit", "max_items_per_unit"):
        assert known.fact(key).source.startswith("assumed: ")
        assert KEYS[key].unit == known.fact(key).unit


def test_what_is_known_is_not_assumed():
    known = device(device_type="cpu", max_groups_per_unit=2, max_work_group_size=8)
    assert {"max_items_per_unit"} == set(assumed_facts(known))
    assert {"max_groups_per_unit"} == set(assumed_facts(device(device_type="cpu")))


def test_nothing_is_assumed_of_a_device_of_unknown_type():
    assert {} == assumed_facts(device(max_work_group_size=1024))
