"""``perfmodel measure``: one document, one summary, one line for bad input."""

from __future__ import annotations

import json
import re

import pytest
from typer.testing import CliRunner

from perfmodel.calibration import kernel_choice
from perfmodel.cli import application
from perfmodel.measuring import run
from perfmodel.store import read
from tests.machine import ROOT

pytestmark = pytest.mark.device


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    """So few configurations would wait for their next visit."""
    monkeypatch.setattr(run, "sleep", lambda seconds: None)


@pytest.fixture
def kernels(tmp_path):
    """A folder with the empty kernel only."""
    folder = tmp_path / "kernels"
    folder.mkdir()
    (folder / "empty.py").write_text((ROOT / "measurement_kernels" / "empty.py").read_text())
    return folder


def perfmodel(*arguments):
    return CliRunner().invoke(application(), ["measure", *map(str, arguments)])


def test_json_is_one_document_and_nothing_else(tmp_path, kernels):
    result = perfmodel("--quick", "--store", tmp_path / "s", "--kernels", kernels, "--json")
    assert 0 == result.exit_code, result.output
    document = json.loads(result.stdout)
    assert "perfmodel.measure/1" == document["schema"]
    assert {"ok"} == set(document["statuses"])
    assert document["flags"].keys() <= {"spread", "clock", "bound", "visits"}
    assert 0 < document["seconds"] < 600
    assert all(row["seconds"] > 0 and 2 <= row["visits"] <= 8 for row in document["rows"])
    assert document["visits"] == sum(row["visits"] for row in document["rows"])


def test_a_second_call_has_nothing_to_do(tmp_path, kernels):
    for _ in "ab":
        result = perfmodel("--quick", "--store", tmp_path / "m.jsonl", "--kernels", kernels)
    assert "configurations measured" in result.stdout
    assert "measuring: 0 steps" in result.stderr


def test_samples_are_measured_into_a_file_of_their_own(tmp_path, monkeypatch):
    some = kernel_choice.shipped_samples()[:4]  # of which a quick campaign takes each third
    monkeypatch.setattr(kernel_choice, "shipped_samples", lambda: some)
    result = perfmodel("--class", "samples", "--quick", "--store", tmp_path)
    assert 0 == result.exit_code, result.output
    rows = read(tmp_path / "samples.jsonl")
    assert [("sample_1", "ok"), (some[3].name, "ok")] == sorted({(row.kernel, row.status) for row in rows})
    assert not (tmp_path / "measurements.jsonl").exists()
    assert all(rows.counts[row.counts_hash].name == row.kernel for row in rows)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--device", "no such device"), "no such device"),
        (("--kernels", "nowhere"), "nowhere"),
        (("--class", "samples"), "no kernel class is called 'samples'"),
        (("--full",), "--quick and --full"),
        (("--class", "no_such"), "no kernel class is called 'no_such' or has such a tag; choose of empty"),
        (("--class", "no_such"), "or of the tags overhead, paper"),
        (("--store", "/proc/nowhere"), "/proc/nowhere"),
        (("--store", ROOT / "setup.cfg" / "below"), "setup.cfg"),
    ],
)
def test_bad_input_is_one_line_and_status_two(tmp_path, kernels, arguments, said):
    given = ("--quick", "--store", tmp_path / "s", "--kernels", kernels, *arguments)
    result = perfmodel(*given)
    assert 2 == result.exit_code
    (line,) = [line for line in result.stderr.splitlines() if line]
    assert line.startswith("perfmodel: error:")
    assert said in line


def test_a_store_of_a_newer_schema_is_one_line(tmp_path, kernels):
    path = tmp_path / "m.jsonl"
    path.write_text('{"schema": "perfmodel.measurement/9"}\n')
    result = perfmodel("--quick", "--store", path, "--kernels", kernels)
    assert 2 == result.exit_code
    (line,) = result.stderr.splitlines()
    assert "perfmodel.measurement/9" in line


def test_a_device_that_cannot_build_is_one_line(tmp_path, kernels, monkeypatch):
    from perfmodel.opencl import Health, selection

    monkeypatch.setattr(selection, "check", lambda device: Health(False, 0.0, "unknown target CPU"))
    result = perfmodel("--quick", "--store", tmp_path / "s", "--kernels", kernels)
    assert 2 == result.exit_code
    (line,) = result.stderr.splitlines()
    assert "unknown target CPU" in line
    assert not (tmp_path / "s").exists()


def test_no_device_at_all_is_one_line(tmp_path, kernels, monkeypatch):
    from perfmodel.opencl import selection

    monkeypatch.setattr(selection, "devices", lambda: ())
    result = perfmodel("--quick", "--store", tmp_path / "s", "--kernels", kernels)
    assert 2 == result.exit_code
    (line,) = result.stderr.splitlines()
    assert "no OpenCL device was found" in line


def test_classes_and_tags_choose(tmp_path, kernels):
    (kernels / "naive.py").write_text((ROOT / "measurement_kernels" / "matmul_naive.py").read_text())
    for value in ("empty", "overhead"):
        result = perfmodel("--store", tmp_path / value, "--kernels", kernels, "--class", value, "--json")
        assert {"empty"} == {row["kernel"] for row in json.loads(result.stdout)["rows"]}


def test_a_budget_says_what_it_leaves_out(tmp_path, kernels):
    result = perfmodel("--budget", "0", "--store", tmp_path / "s", "--kernels", kernels)
    assert 0 == result.exit_code
    assert "the budget of 0 s is used" in result.stderr
    assert ": 0 configurations measured" in result.stdout


def test_failures_are_in_the_summary(tmp_path):
    folder = tmp_path / "kernels"
    folder.mkdir()
    text = (ROOT / "measurement_kernels" / "matmul_naive.py").read_text()
    wrong = 'reference=lambda arguments: {"c": 2*arguments["a"]}'
    (folder / "naive.py").write_text(text.replace("reference=product", wrong))
    result = perfmodel("--quick", "--store", tmp_path / "s", "--kernels", folder)
    assert 0 == result.exit_code
    assert re.search(r": 0 configurations measured \(\d correctness\) in 0 visits, in ", result.stdout)
    assert "measuring: matmul_naive: correctness (" in result.stderr
