"""Records name other counts, and all else stays byte by byte."""

from __future__ import annotations

import json

import pytest

from perfmodel import store
from perfmodel.store import canonical
from perfmodel.store.renaming import rename_counts
from tests.store.test_files import Counts, measurement

WORK_GROUP = canonical({"work_group": [16, 16]})


OLD = Counts()
NEW = Counts()
NEW.content = {"a": 2}


def old(**changes):
    return measurement(counts_hash=OLD.hash, **changes)


def test_only_the_records_that_are_meant_name_the_new_counts(tmp_path):
    for row in (
        old(), old(parameters={"n": 16}), old(kernel_hash="other"), old(kernel="x"),
    ):
        store.append(tmp_path, row, OLD)
    before = (tmp_path / "measurements.jsonl").read_bytes().splitlines()
    assert 2 == rename_counts(tmp_path, {("copy", WORK_GROUP, "h", OLD.hash): NEW})
    after = (tmp_path / "measurements.jsonl").read_bytes().splitlines()
    assert before[2:] == after[2:]
    assert [{**json.loads(line), "counts_hash": NEW.hash} for line in before[:2]] == list(map(json.loads, after[:2]))
    assert {OLD.hash: {"a": 1}, NEW.hash: {"a": 2}} == store.read(tmp_path).counts_documents


def test_nothing_is_written_where_no_record_is_meant(tmp_path):
    store.append(tmp_path, old(), OLD)
    before = (tmp_path / "measurements.jsonl").stat().st_ino
    assert 0 == rename_counts(tmp_path, {("gone", WORK_GROUP, "h", OLD.hash): NEW})
    assert before == (tmp_path / "measurements.jsonl").stat().st_ino
    assert {OLD.hash} == set(store.read(tmp_path).counts_documents)


@pytest.mark.filterwarnings("ignore::perfmodel.errors.SetAsideWarning")
def test_a_torn_last_line_stays(tmp_path):
    store.append(tmp_path, old(), OLD)
    with (tmp_path / "measurements.jsonl").open("a") as file:
        file.write('{"kernel": "co')
    assert 1 == rename_counts(tmp_path, {("copy", WORK_GROUP, "h", OLD.hash): NEW})
    assert (tmp_path / "measurements.jsonl").read_text().endswith('\n{"kernel": "co')
    assert [NEW.hash] == [row.counts_hash for row in store.read(tmp_path).rows]
