"""Records name other counts, and all else stays byte by byte."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from time import sleep

from perfmodel import store
from perfmodel.documents import canonical
from scripts.lab.recounting import rename_counts
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


APPENDER = """
import sys
from perfmodel import store
from tests.lab.test_recounting_records import old

for n in range(int(sys.argv[2])):
    store.append(sys.argv[1], old(parameters={"n": n}))
    if n == 0:
        print("begun", flush=True)
"""


def test_no_record_is_lost_that_another_process_appends_meanwhile(tmp_path):
    store.append(tmp_path, old(), OLD)
    records, renamed, names = 100, 0, [OLD, NEW]
    root = Path(__file__).parents[2]
    with subprocess.Popen(
        [sys.executable, "-c", APPENDER, str(tmp_path), str(records)], stdout=subprocess.PIPE, cwd=root
    ) as appender:
        assert b"begun\n" == appender.stdout.readline()
        while appender.poll() is None:
            place = ("copy", WORK_GROUP, "h", names[0].hash)
            renamed += bool(rename_counts(tmp_path, {place: names[1]}))
            names.reverse()
            sleep(0.02)  # the other process looks for the lock every 5 ms
    assert 0 == appender.returncode
    assert renamed  # at least once while the other process appends; how often depends on the load of the machine
    sizes = [row.parameters["n"] for row in store.read(tmp_path).rows[1:]]
    assert list(range(records)) == sizes
