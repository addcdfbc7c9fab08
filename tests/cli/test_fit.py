"""``perfmodel fit``: committed weights come out again, and no file is replaced unasked."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from perfmodel.calibration import fitted_device
from perfmodel.cli import application
from perfmodel.models import families

ROOT = Path(__file__).parents[2]
DATA = ROOT / "docs" / "data" / "quickstart"
DEVICES = sorted(path.parent for path in ROOT.glob("fitted_weights/*/test.jsonl"))
CORE = "stevens_kloeckner_2016"


def run(*arguments: str):
    return CliRunner().invoke(application(), ["fit", *arguments])


@pytest.fixture
def folder(tmp_path):
    shutil.copytree(DATA, tmp_path / "device")
    return tmp_path / "device"


@pytest.fixture
def two_families(monkeypatch):
    known = {name: families()[name] for name in (CORE, "overlap")}
    monkeypatch.setattr(fitted_device, "families", lambda: known)


@pytest.mark.slow
@pytest.mark.parametrize("family", [CORE, "work_depth"])
@pytest.mark.parametrize("device", DEVICES, ids=lambda path: path.name)
def test_the_committed_weights_come_out_again(device, family, tmp_path):
    check_committed(device, family, tmp_path)


@pytest.mark.nightly
@pytest.mark.parametrize("family", sorted(set(families()) - {CORE, "work_depth"}))
@pytest.mark.parametrize("device", DEVICES, ids=lambda path: path.name)
def test_all_committed_weights_come_out_again(device, family, tmp_path):
    check_committed(device, family, tmp_path)


def check_committed(device, family, tmp_path):
    result = run("--from", str(device), "--family", family, "-o", str(tmp_path / "w.json"))
    assert 0 == result.exit_code, result.stderr
    found, committed = (json.loads(path.read_text()) for path in (tmp_path / "w.json", device / f"{family}.json"))
    assert committed["weights"].keys() == found["weights"].keys()
    for name, weight in committed["weights"].items():
        assert pytest.approx(weight["value"], rel=1e-12, abs=0) == found["weights"][name]["value"], name


def test_a_file_that_is_there_is_replaced_only_where_it_is_named(folder):
    path = folder / f"{CORE}.json"
    path.write_text("mine")
    result = run("--from", str(folder))
    assert 2 == result.exit_code
    assert f"'{path}' exists already; give --out FILE" in result.stderr
    assert "mine" == path.read_text()
    assert 0 == run("--from", str(folder), "--out", str(path)).exit_code
    assert "weights" in json.loads(path.read_text())


def test_all_families_with_a_verdict(folder, tmp_path, two_families):
    out = tmp_path / "out"
    result = run("--all", "--from", str(folder), "--out", str(out))
    assert 0 == result.exit_code, result.stderr
    assert {f"{CORE}.json", "overlap.json", "verdict.txt"} == {path.name for path in out.iterdir()}
    assert (out / "verdict.txt").read_text() in result.stdout
    assert "verdict: usable" in result.stdout
    assert f"wrote {out}" in result.stdout
    alone = json.loads(run("--from", str(folder), "--json").stdout)
    assert alone == json.loads((out / f"{CORE}.json").read_text())


def test_all_families_as_a_document(folder, two_families):
    document = json.loads(run("--all", "--from", str(folder), "--json").stdout)
    assert "perfmodel.calibration/1" == document["schema"]
    assert {CORE, "overlap"} == document["weights_files"].keys()
    assert {CORE, "overlap"} <= {row["family"] for row in document["comparison"]}
    assert (folder / "verdict.txt").is_file()


@pytest.mark.parametrize("name", ["overlap.json", "verdict.txt"])
def test_all_families_replace_nothing_unasked(folder, two_families, name):
    (folder / name).write_text("mine")
    before = sorted(folder.iterdir())
    result = run("--all", "--from", str(folder))
    assert 2 == result.exit_code
    assert f"'{folder / name}' exists already; give --out FOLDER" in result.stderr
    assert before == sorted(folder.iterdir())
    assert 0 == run("--all", "--from", str(folder), "--out", str(folder)).exit_code
    assert "mine" != (folder / name).read_text()


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (("--nonnegative",), "--all was given with an option of a single fit"),
        (("--family", "overlap"), "--all was given with an option of a single fit"),
    ],
)
def test_all_and_one_are_not_mixed(folder, arguments, part):
    result = run("--all", "--from", str(folder), *arguments)
    assert 2 == result.exit_code
    assert part in result.stderr


def test_all_needs_a_folder(folder):
    result = run("--all", "--from", str(folder / "measurements.jsonl"))
    assert 2 == result.exit_code
    assert "measurements.jsonl', which is no folder" in result.stderr
