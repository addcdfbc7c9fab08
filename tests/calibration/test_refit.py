"""All families of a device's folder, fitted and written."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from perfmodel.calibration import refit
from perfmodel.calibration.refit import fit_all
from perfmodel.predict import fit, load
from perfmodel.store import read

DATA = Path(__file__).parents[2] / "docs" / "data" / "quickstart"
CORE = "stevens_kloeckner_2016"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    shutil.copytree(DATA, tmp_path / "device")
    known = {name: refit.families()[name] for name in (CORE, "mwp_cwp")}
    monkeypatch.setattr(refit, "families", lambda: known)
    return tmp_path / "device"


def test_weights_are_those_of_a_plain_fit_and_one_problem_ends_nothing(folder, tmp_path):
    told = []
    (tmp_path / "out").mkdir()
    found = fit_all(folder, tmp_path / "out", told.append)
    assert {CORE} == {*found.models}
    assert ["mwp_cwp"] == [*found.problems]  # it needs facts of the device that are not in this folder
    assert [CORE] == [path.stem for path in (tmp_path / "out").glob("*.json")]
    assert [f"mwp_cwp: {found.problems['mwp_cwp']}", CORE] == sorted(told)
    plain = fit(read(folder), CORE, others=read(folder / "test.jsonl"))
    written = load(tmp_path / "out" / f"{CORE}.json")
    assert dict(plain.weights) == dict(written.weights) == dict(found.models[CORE].weights)
    assert json.loads((tmp_path / "out" / f"{CORE}.json").read_text())["options"]["fit_facts"] is True


def test_without_another_folder_weights_are_written_beside_the_measurements(folder):
    found = fit_all(folder)
    assert (folder / f"{CORE}.json").is_file()
    text = found.verdict()
    assert text.startswith(f"{CORE} on {found.tests.device}\n")
    assert "verdict: usable" in text
