"""``perfmodel recount``: a list of what changed, the new counts in the store, and one line for bad input."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from perfmodel import store
from perfmodel.cli import application
from perfmodel.kernels import discover
from perfmodel.measuring.subject import Subject
from tests.calibration.test_recounting import count, stored, without_dataflow
from tests.machine import ROOT


def recount(*arguments):
    return CliRunner().invoke(application(), ["recount", *map(str, arguments)])


@pytest.fixture
def kernels(tmp_path):
    (tmp_path / "kernels").mkdir()
    text = (ROOT / "measurement_kernels" / "empty.py").read_text()
    (tmp_path / "kernels" / "empty.py").write_text(text)
    return tmp_path / "kernels"


@pytest.fixture
def subject(kernels):
    (kernel,) = discover(kernels)
    return Subject(kernel, kernel.variants_on(256, 1)[0])


def store_of(path, subject, change=lambda counts: counts):
    counts = change(count(subject.generated.t_unit, subgroup_size=16))
    return stored(path, subject, counts, kernel=subject.kernel.name)


def doubled_groups(counts):
    (row,) = counts.launch_table
    return replace(counts, launch_table=(replace(row, work_groups=2 * row.work_groups),))


def test_counts_of_today_are_one_line(tmp_path, kernels, subject):
    result = recount(store_of(tmp_path / "s", subject), "--kernels", kernels)
    assert (0, "1 kernels: 1 have the same counts\n") == (result.exit_code, result.stdout)


def test_a_change_is_shown_and_written_when_asked(tmp_path, kernels, subject):
    path = store_of(tmp_path / "s", subject, doubled_groups)
    shown = recount(path, "--kernels", kernels)
    assert "launch_table" in shown.stdout
    assert "1 have other counts\nnothing was written; --write lets the records name the new counts" in shown.stdout
    before = [row.counts_hash for row in store.read(path)]
    result = recount(path, "--kernels", kernels, "--write", "--json")
    document = json.loads(result.stdout)
    (row,) = document["kernels"]
    assert ("perfmodel.recount/1", 1, "changed") == (document["schema"], document["records_written"], row["status"])
    assert [row["old_hash"]] == before
    assert [row["new_hash"]] == [record.counts_hash for record in store.read(path)]
    assert "1 have the same counts" in recount(path, "--kernels", kernels).stdout


def test_a_hash_alone_is_shown_with_the_part_that_differs(tmp_path, kernels, subject):
    result = recount(store_of(tmp_path / "s", subject, without_dataflow), "--kernels", kernels)
    assert "no value differs; the hash does in: source.dataflow" in result.stdout


@pytest.mark.parametrize(("arguments", "part"), [
    (("gone",), "no measurements at 'gone'"),
    ((".", "--kernels", "gone"), "no kernel file at 'gone'"),
])
def test_bad_input_is_one_line(tmp_path, monkeypatch, arguments, part):
    monkeypatch.chdir(tmp_path)
    result = recount(*arguments)
    assert 2 == result.exit_code
    (line,) = [line for line in result.stderr.splitlines() if "error" in line]
    assert part in line
