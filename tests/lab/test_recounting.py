"""Small stores whose counts are those of today, older ones, or of kernels that are gone; all else stays."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from time import sleep

import loopy as lp
import numpy as np
import pytest

from perfmodel import store
from perfmodel.counts import count
from perfmodel.counts.program.program import Dataflow
from perfmodel.documents import canonical
from perfmodel.measuring.subject import Subject
from scripts.lab.recounting import recount, rename_counts, write
from tests.campaigns import SCALE
from tests.store.test_files import Counts, measurement

GROUP = {"work_group": (64,)}
FLAGGED = """
    <> taken = flag[i]
    out[i] = 2*a[i] if taken > 0 else 0
"""


@pytest.fixture(scope="module")
def subject():
    return Subject(SCALE, {"factor": 2, **GROUP})


@pytest.fixture(scope="module")
def counts(subject):
    return count(subject.generated.t_unit, subgroup_size=16)


def stored(path, subject, counts, **others):
    """Store one record of the variant with these counts."""
    values = {
        "kernel": "scale", "variant": subject.variant, "kernel_hash": subject.hash, "counts_hash": counts.hash,
        "parameters": {"n": 256}, **others,
    }
    store.append(path, measurement(**values), counts)
    return path


def with_twice_the_operations(counts):
    (row,) = counts.operation_table
    return replace(counts, operation_table=(replace(row, count=2 * row.count),))


def test_counts_of_today_are_the_same(tmp_path, subject, counts):
    (one,) = recount([stored(tmp_path, subject, counts)], [SCALE])
    assert ("same", counts.hash, ()) == (one.status, one.new.hash, one.changes)
    assert 0 == write([one])


def test_a_changed_value_is_listed_and_written(tmp_path, subject, counts):
    """out[i] = 2*a[i] multiplies n times; the store says 2*n."""
    (one,) = recount([stored(tmp_path, subject, with_twice_the_operations(counts))], [SCALE])
    assert "changed" == one.status
    assert [("2*n", "n")] == [(change.old, change.new) for change in one.changes]
    assert 1 == write([one])
    found = store.read(tmp_path)
    assert [counts.hash] == [row.counts_hash for row in found]
    assert 256 == found.counts[counts.hash].operations()(n=256)
    assert ["same"] == [again.status for again in recount([tmp_path], [SCALE])]


def test_a_hash_that_changes_alone_has_its_reason(tmp_path, subject, counts):
    without_dataflow = replace(counts, source=replace(counts.program, dataflow=Dataflow(())))
    (one,) = recount([stored(tmp_path, subject, without_dataflow)], [SCALE])
    assert ("rewritten", (), ("source.dataflow",)) == (one.status, one.changes, one.parts)
    assert one.old_hash != one.new.hash
    assert 1 == write([one])


def test_what_a_class_knows_of_its_data_is_counted_with(tmp_path):

    def build(factor, **_):
        unit = lp.make_kernel("{[i]: 0 <= i < n}", FLAGGED, assumptions="n >= 1", lang_version=(2018, 2))
        unit = lp.add_dtypes(unit, {"a": np.float32, "flag": np.int32})
        return lp.split_iname(unit, "i", 64, outer_tag="g.0", inner_tag="l.0")

    known = {"taken > 0": 0.25}
    kernel = replace(SCALE, build=build, statistics=known)
    subject = Subject(kernel, {"factor": 2, **GROUP})
    stored(tmp_path, subject, count(subject.generated.t_unit, subgroup_size=16, statistics=known))
    assert ["same"] == [one.status for one in recount([tmp_path], [kernel])]
    assert ["changed"] == [one.status for one in recount([tmp_path], [replace(kernel, statistics={})])]


def test_code_that_was_not_measured_gets_no_counts(tmp_path, subject, counts):
    stored(tmp_path, subject, with_twice_the_operations(counts), kernel_hash="another")
    (one,) = recount([tmp_path], [SCALE])
    assert "other code" == one.status
    assert [("2*n", "n")] == [(change.old, change.new) for change in one.changes]
    assert 0 == write([one])


WORK_GROUP = canonical({"work_group": [16, 16]})

OLD = Counts()
NEW = Counts()
NEW.content = {"a": 2}


def old(**changes):
    return measurement(counts_hash=OLD.hash, **changes)


def test_only_the_records_that_are_meant_name_the_new_counts(tmp_path):
    for row in (old(), old(parameters={"n": 16}), old(kernel_hash="other"), old(kernel="x")):
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
from tests.lab.test_recounting import old

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
