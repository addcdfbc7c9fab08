"""Families fitted to a folder: one of them, judged, and all of them with a verdict."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from perfmodel.calibration import fitted_device, refit
from perfmodel.calibration.fitted_device import CORE, files_of_all, fit_device, fit_family, judge_family
from perfmodel.compare import compare
from perfmodel.models import find_family
from perfmodel.predict import fit, load
from perfmodel.store import read

DATA = Path(__file__).parents[2] / "docs" / "data" / "quickstart"
SOME = (CORE, "overlap", "mwp_cwp")  # the last one needs facts of the device that this folder does not hold


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("devices") / "device"
    shutil.copytree(DATA, path)
    return path


@pytest.fixture(scope="module")
def found(folder):
    with pytest.MonkeyPatch.context() as patch:
        known = {name: refit.families()[name] for name in SOME}
        for module in (refit, fitted_device):
            patch.setattr(module, "families", lambda: known)
        assert {f"{name}.json" for name in SOME} | {"verdict.txt"} == {path.name for path in files_of_all(folder)}
        return fit_device(folder, folder.parent / "out")


def test_files_are_those_that_it_names(found):
    assert {CORE, "overlap"} == found.weights_files.keys()
    written = {path.name for path in found.folder.iterdir()}
    assert {path.name for path in found.weights_files.values()} | {"verdict.txt"} == written
    assert found.text == (found.folder / "verdict.txt").read_text()


def test_the_verdict_is_that_of_the_core_papers_family(found, folder):
    model = load(found.weights_files[CORE])
    rows = compare(model, read(folder / "test.jsonl"))
    assert [row.predicted for row in rows] == pytest.approx([row.predicted for row in found.comparisons])
    assert f"verdict: {found.verdict.text}\n" in found.text
    assert not found.verdict.to_time  # the error is near 50 %
    for family in SOME:
        assert family in found.text.partition("all families on the same cases")[2]


def test_a_family_alone_is_fitted_as_among_all(found, folder):
    alone = fit_family(folder / "measurements.jsonl", find_family(CORE))
    assert dict(found.families.models[CORE].weights) == dict(alone.weights)
    assert alone.fitted.conformal == fit(read(folder), others=read(folder / "test.jsonl")).fitted.conformal


def test_judged_by_every_protocol(folder):
    judged = judge_family(folder, find_family(CORE))
    assert ["A", "B", "sizes"] == [each.protocol for each in judged.evaluations]
    assert CORE == judged.model.family.name
