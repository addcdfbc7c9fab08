"""The store: whole records or none, and nothing lost in silence."""

from __future__ import annotations

import json

import pytest

from perfmodel import errors, store
from perfmodel.store import Measurement


class Counts:
    """Has of KernelCounts what the store needs."""

    hash = "abc"

    def to_json(self):
        return {"a": 1}


def measurement(**changes) -> Measurement:
    values = {
        "kernel": "copy",
        "group": "vector",
        "variant": {"work_group": (16, 16)},
        "parameters": {"n": 8},
        "device": "D",
        "platform": "P",
        "driver": "1",
        "versions": {},
        "kernel_hash": "h",
        "counts_hash": "abc",
        "samples_s": (9.0, 8.0, 3.0, 2.0, 4.0),
        "dropped": 2,
        "status": "ok",
    }
    return Measurement(**{**values, **changes})


def test_seconds_are_the_minimum_after_the_drop():
    row = measurement(samples_s=(1.0, 1.0, 3.0, 2.0, 4.0))
    assert 2.0 == row.seconds
    assert 3.0 == row.median
    assert 0.5 == row.spread


def test_what_is_read_is_what_was_written(tmp_path):
    row = measurement()
    store.append(tmp_path, row, Counts())
    found = store.read(tmp_path)
    assert (row,) == found.rows
    assert {"abc": {"a": 1}} == found.counts_documents
    assert () == found.set_aside


def test_counts_are_written_once(tmp_path):
    for n in (1, 2, 3):
        store.append(tmp_path, measurement(parameters={"n": n}), Counts())
    assert 1 == len((tmp_path / "counts.jsonl").read_text().splitlines())


def test_a_jsonl_path_names_the_rows_and_counts_lie_beside(tmp_path):
    store.append(tmp_path / "m.jsonl", measurement(), Counts())
    assert {"m.jsonl", "counts.jsonl"} == {path.name for path in tmp_path.iterdir()}
    assert 1 == len(store.read(tmp_path / "m.jsonl"))


def test_iteration_gives_the_newest_ok_record_of_each_configuration(tmp_path):
    rows = [
        measurement(samples_s=(1.0,) * 5),
        measurement(samples_s=(2.0,) * 5, kernel_hash="new"),
        measurement(parameters={"n": 9}, status="runtime", samples_s=()),
    ]
    for row in rows:
        store.append(tmp_path, row)
    found = store.read(tmp_path)
    assert 3 == len(found.rows)
    assert [2.0] == [row.seconds for row in found]


def test_a_new_driver_or_code_is_another_key_in_the_same_place():
    old, code, driver = (
        measurement(),
        measurement(kernel_hash="x"),
        measurement(driver="2"),
    )
    assert 3 == len({old.key, code.key, driver.key})
    assert 1 == len({old.place, code.place, driver.place})


@pytest.mark.parametrize("cut", [1, 20, 200])
def test_a_torn_last_line_is_left_out_and_told(tmp_path, cut):
    for n in (1, 2):
        store.append(tmp_path, measurement(parameters={"n": n}))
    path = tmp_path / "measurements.jsonl"
    path.write_bytes(path.read_bytes()[: -cut - 1])
    found = store.read(tmp_path)
    assert [{"n": 1}] == [row.parameters for row in found.rows]
    assert 1 == len(found.set_aside)
    assert "line 2" in found.set_aside[0]


def test_the_torn_line_is_set_aside_before_the_next_record(tmp_path):
    for n in (1, 2):
        store.append(tmp_path, measurement(parameters={"n": n}))
    path = tmp_path / "measurements.jsonl"
    torn = path.read_bytes()[:-30]
    path.write_bytes(torn)
    store.append(tmp_path, measurement(parameters={"n": 3}))
    found = store.read(tmp_path)
    assert [{"n": 1}, {"n": 3}] == [row.parameters for row in found.rows]
    assert () == found.set_aside
    assert torn.splitlines()[1] + b"\n" == (tmp_path / "measurements.jsonl.torn").read_bytes()


def test_a_last_line_that_only_lost_its_newline_is_kept(tmp_path):
    store.append(tmp_path, measurement(parameters={"n": 1}))
    path = tmp_path / "measurements.jsonl"
    path.write_bytes(path.read_bytes().rstrip(b"\n"))
    store.append(tmp_path, measurement(parameters={"n": 2}))
    assert 2 == len(store.read(tmp_path).rows)


def test_every_cut_of_the_file_leaves_the_whole_records(tmp_path):
    for n in (1, 2, 3):
        store.append(tmp_path, measurement(parameters={"n": n}))
    path = tmp_path / "measurements.jsonl"
    whole = path.read_bytes()
    for cut in range(1, len(whole), 7):
        path.write_bytes(whole[:cut])
        kept = whole[:cut].count(b"\n")
        assert kept <= len(store.read(tmp_path).rows) <= kept + 1


def test_damage_in_the_middle_is_an_error_with_its_line(tmp_path):
    for n in (1, 2, 3):
        store.append(tmp_path, measurement(parameters={"n": n}))
    path = tmp_path / "measurements.jsonl"
    lines = path.read_text().splitlines()
    path.write_text("\n".join([lines[0], lines[1][:40], lines[2]]) + "\n")
    with pytest.raises(errors.StoreFormatError, match="line 2"):
        store.read(tmp_path)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"schema": "perfmodel.measurement/2"}, "perfmodel.measurement/2"),
        ({"schema": None}, "None"),
        ({"status": "fine"}, "status"),
        ({"surprise": 1}, "surprise"),
    ],
)
def test_a_record_of_another_schema_is_an_error(tmp_path, changes, said):
    document = {**measurement().model_dump(mode="json", by_alias=True), **changes}
    (tmp_path / "measurements.jsonl").write_text(json.dumps(document) + "\n")
    with pytest.raises(errors.StoreFormatError, match=said):
        store.read(tmp_path)


def test_no_store_is_an_error_that_says_how_to_make_one(tmp_path):
    with pytest.raises(errors.StoreMissingError, match="perfmodel measure"):
        store.read(tmp_path)


def test_a_store_that_cannot_be_written_is_an_output_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(errors.OutputError):
        store.append(tmp_path / "file" / "inside", measurement())
    with pytest.raises(errors.OutputError):
        store.prepare(tmp_path / "file" / "inside")


def test_rows_of_two_devices_have_no_one_device(tmp_path):
    store.append(tmp_path, measurement())
    store.append(tmp_path, measurement(device="E"))
    found = store.read(tmp_path)
    with pytest.raises(errors.MixedDevicesError, match="D, E"):
        found.device  # noqa: B018 -- raises
    assert "E" == found.of_device("E").device


def test_records_are_frozen():
    with pytest.raises(ValueError, match="frozen"):
        measurement().kernel = "other"
