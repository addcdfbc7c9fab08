"""Probes on disk, and the facts that a store reads with them."""

from __future__ import annotations

import pytest

from perfmodel import store
from perfmodel.errors import SetAsideWarning
from perfmodel.facts import DeviceFacts, Fact
from perfmodel.store.files import append_probe, probes_path, read_probes
from tests.facts.test_probed import L1, capacity
from tests.probed import chase

CPU = DeviceFacts.from_mapping(
    "a device", "a platform", "1",
    {"device_type": Fact("cpu", "", "CL_DEVICE_TYPE"), "max_work_group_size": Fact(64, "work-items", "CL")},
)  # fmt: skip


def test_read_back_it_is_the_same(tmp_path):
    first, second = capacity(), chase({64: 1e-9}, visit=1, status="failed", message="no memory")
    append_probe(tmp_path, first)
    append_probe(tmp_path / "test.jsonl", second)
    assert (first, second) == read_probes(tmp_path) == read_probes(tmp_path / "measurements.jsonl")
    assert () == read_probes(tmp_path / "none")


def test_a_damaged_line_is_left_out(tmp_path):
    append_probe(tmp_path, capacity())
    with probes_path(tmp_path).open("a") as file:
        file.write('{"schema": "perfmodel.probe/1", "probe": 3}\n')
    with pytest.warns(SetAsideWarning, match="line 2 is not valid"):
        assert (capacity(),) == read_probes(tmp_path)


def test_a_store_has_assumed_measured_told_and_written_facts(tmp_path):
    store.prepare(tmp_path, CPU)
    assert {"max_groups_per_unit", "max_items_per_unit"} == set(store.read(tmp_path).facts) - set(CPU)
    append_probe(tmp_path, capacity())
    known = store.read(tmp_path).facts
    assert (L1, 64) == (known.value("l1_bytes"), known.value("max_items_per_unit"))
    rows = [("l1_bytes", 1, "B"), ("max_groups_per_unit", 2, '""')]
    text = [f"  {key}: {{value: {value}, unit: {unit}, source: mine}}" for key, value, unit in rows]
    (tmp_path / "facts.yaml").write_text("\n".join(["facts:", *text]) + "\n")
    known = store.read(tmp_path).facts
    assert (1, "mine") == (known.value("l1_bytes"), known.fact("l1_bytes").source)
    assert 2 == known.value("max_groups_per_unit")
