"""Records name other counts, and all else stays byte by byte."""

from __future__ import annotations

import json

from perfmodel import store
from perfmodel.store import canonical
from perfmodel.store.renaming import rename_counts
from tests.store.test_files import Counts, measurement

WORK_GROUP = canonical({"work_group": [16, 16]})


class NewCounts(Counts):
    hash = "def"

    def to_json(self):
        return {"a": 2}


def test_only_the_records_that_are_meant_name_the_new_counts(tmp_path):
    for row in (
        measurement(), measurement(parameters={"n": 16}), measurement(kernel_hash="other"), measurement(kernel="x"),
    ):
        store.append(tmp_path, row, Counts())
    before = (tmp_path / "measurements.jsonl").read_bytes().splitlines()
    assert 2 == rename_counts(tmp_path, {("copy", WORK_GROUP, "h", "abc"): NewCounts()})
    after = (tmp_path / "measurements.jsonl").read_bytes().splitlines()
    assert before[2:] == after[2:]
    assert [{**json.loads(line), "counts_hash": "def"} for line in before[:2]] == list(map(json.loads, after[:2]))
    assert {"abc": {"a": 1}, "def": {"a": 2}} == store.read(tmp_path).counts_documents


def test_nothing_is_written_where_no_record_is_meant(tmp_path):
    store.append(tmp_path, measurement(), Counts())
    before = (tmp_path / "measurements.jsonl").stat().st_ino
    assert 0 == rename_counts(tmp_path, {("gone", WORK_GROUP, "h", "abc"): NewCounts()})
    assert before == (tmp_path / "measurements.jsonl").stat().st_ino
    assert {"abc"} == set(store.read(tmp_path).counts_documents)


def test_a_torn_last_line_stays(tmp_path):
    store.append(tmp_path, measurement(), Counts())
    with (tmp_path / "measurements.jsonl").open("a") as file:
        file.write('{"kernel": "co')
    assert 1 == rename_counts(tmp_path, {("copy", WORK_GROUP, "h", "abc"): NewCounts()})
    assert (tmp_path / "measurements.jsonl").read_text().endswith('\n{"kernel": "co')
    assert ["def"] == [row.counts_hash for row in store.read(tmp_path).rows]
