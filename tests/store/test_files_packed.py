"""Counts that are packed: read with the plain ones, appended to beside them, packed again, damaged."""

import lzma

import pytest

from perfmodel import errors, store
from perfmodel.errors import SetAsideWarning
from perfmodel.facts import DeviceFacts, Fact
from perfmodel.store.files import append_probe, probes_path, read_probes
from tests.facts.test_probed import L1, capacity
from tests.probed import chase
from tests.store.test_files import Numbered, counts_line, measurement, numbers


@pytest.fixture
def packed(tmp_path):
    """A store with the counts 1 and 2, packed."""
    for number in (1, 2):
        store.append(tmp_path, measurement(parameters={"n": number}), Numbered(number))
    store.pack(tmp_path)
    return tmp_path


def read_numbers(folder):
    return [document["number"] for document in store.read(folder).counts_documents.values()]


def test_a_campaign_appends_what_is_not_packed_to_a_plain_file(packed):
    before = (packed / "counts.jsonl.xz").read_bytes()
    for number in (2, 3, 1, 3):
        store.append(packed, measurement(parameters={"n": number}), Numbered(number))
    assert [3] == numbers(packed)
    assert before == (packed / "counts.jsonl.xz").read_bytes()
    assert [1, 2, 3] == read_numbers(packed)
    store.pack(packed)
    assert not (packed / "counts.jsonl").exists()
    assert [1, 2, 3] == read_numbers(packed)


def test_the_same_counts_give_the_same_bytes(packed):
    before = (packed / "counts.jsonl.xz").read_bytes()
    store.pack(packed)
    assert before == (packed / "counts.jsonl.xz").read_bytes()
    assert counts_line({"number": 1}) + counts_line({"number": 2}) == lzma.decompress(before).decode()


def test_a_kill_while_packing_loses_nothing(packed, monkeypatch):
    store.append_counts(packed, Numbered(3))
    monkeypatch.setattr("pathlib.Path.unlink", lambda path: pytest.fail("killed"))
    with pytest.raises(pytest.fail.Exception, match="killed"):
        store.pack(packed)
    monkeypatch.undo()
    assert [3] == numbers(packed)
    assert [1, 2, 3] == read_numbers(packed)


def test_nothing_is_packed_while_a_line_is_damaged(packed):
    before = (packed / "counts.jsonl.xz").read_bytes()
    damaged = counts_line({"number": 3}).replace("3}", "4}")
    (packed / "counts.jsonl").write_text(damaged)
    with pytest.warns(errors.SetAsideWarning, match="line 1 was changed"):
        store.pack(packed)
    assert (damaged, before) == ((packed / "counts.jsonl").read_text(), (packed / "counts.jsonl.xz").read_bytes())


@pytest.mark.parametrize("damage", [lambda content: content[:-9], lambda content: b"no pack", lambda content: b""])
def test_a_damaged_pack_says_what_to_do(tmp_path, damage):
    store.append(tmp_path, measurement())
    packed = lzma.compress(counts_line({"number": 4}).encode())
    (tmp_path / "counts.jsonl.xz").write_bytes(damage(packed))
    with pytest.raises(errors.StoreError, match=r"cannot be unpacked .*git checkout .*measure again"):
        store.read(tmp_path)


CPU = DeviceFacts.from_mapping(
    "a device", "a platform", "1",
    {"device_type": Fact("cpu", "", "CL_DEVICE_TYPE"), "max_work_group_size": Fact(64, "work-items", "CL")},
)  # fmt: skip


def test_probes_are_read_back_the_same_and_a_damaged_line_is_left_out(tmp_path):
    first, second = capacity(), chase({64: 1e-9}, visit=1, status="failed", message="no memory")
    append_probe(tmp_path, first)
    append_probe(tmp_path / "test.jsonl", second)
    assert (first, second) == read_probes(tmp_path) == read_probes(tmp_path / "measurements.jsonl")
    assert () == read_probes(tmp_path / "none")
    with probes_path(tmp_path).open("a") as file:
        file.write('{"schema": "perfmodel.probe/1", "probe": 3}\n')
    with pytest.warns(SetAsideWarning, match="line 3 is not valid"):
        assert (first, second) == read_probes(tmp_path)


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
