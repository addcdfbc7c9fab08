"""Families fitted to a folder: one of them, judged, and all of them with a verdict."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from perfmodel.calibration import calibrate
from perfmodel.calibration.calibrate import CORE, files_of_all, fit_device
from perfmodel.calibration.recommended import recommended_weights
from perfmodel.compare import compare, summarise
from perfmodel.fitting.device_folder import recorded_folder
from perfmodel.models import families
from perfmodel.predicting.model import fit, load
from perfmodel.progress import Silent
from perfmodel.store import read

ROOT = Path(__file__).parents[2]
DATA = ROOT / "docs" / "data" / "quickstart"
BOTTLENECK = ROOT / "fitted_weights" / "pocl-skylake-avx512-amd-epyc" / "bottleneck.json"
SOME = (CORE, "overlap", "mwp_cwp")  # the last one needs facts of the device that this folder does not hold

REST = {"recommended.json", "roofs.yaml", "verdict.txt"}


#: The fixture `found` is made before this one, with several processes as by default.
pytestmark = pytest.mark.usefixtures("one_process")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("devices") / "device"
    shutil.copytree(DATA, path)
    return path


class Listener(Silent):
    """Keeps what is reported of each step."""

    def __init__(self):
        self.notes = []

    def advance(self, note="", seconds=0.0):
        self.notes.append(note)


@pytest.fixture(scope="module")
def listener():
    return Listener()


@pytest.fixture(scope="module")
def found(folder, listener):
    with pytest.MonkeyPatch.context() as patch:
        known = {name: families()[name] for name in SOME}
        patch.setattr(calibrate, "families", lambda: known)
        assert {f"{name}.json" for name in SOME} | REST == {path.name for path in files_of_all(folder)}
        return fit_device(folder, folder.parent / "out", listener)


def test_without_test_kernels_measured_ones_are_judged_by_fits_without_their_group(tmp_path):
    shutil.copytree(DATA, tmp_path / "device")
    (tmp_path / "device" / "test.jsonl").unlink()
    found = fit_device(tmp_path / "device", names=(CORE,))
    (contender,) = found.contenders
    measured = read(DATA)
    assert len(measured) == len(found.comparisons)
    assert contender.by("groups").rows == tuple(row for row in found.comparisons if row.predicted is not None)
    assert ("groups", "kernels", "variants") == contender.protocols
    assert "no test kernels; the verdict is for measured kernels, each by a fit without its group" in found.text
    assert fit(measured, CORE, nonnegative=True).weights == found.models[CORE].weights  # it is the only candidate


def test_samples_stand_beside_the_test_kernels_in_the_verdict(tmp_path):
    shutil.copytree(DATA, tmp_path / "device")
    shutil.copy(DATA / "test.jsonl", tmp_path / "device" / "samples.jsonl")  # stand for samples
    found, plain = (fit_device(path, tmp_path, names=(CORE,)) for path in (tmp_path / "device", DATA))
    assert [row.predicted for row in found.comparisons] == [row.predicted for row in found.samples]
    figures, count = summarise(found.comparisons), len(found.comparisons)
    table = found.text.partition("kernels that no fit has seen")[2].splitlines()[1:3]
    assert [["kernels", "above"], ["random", "samples"]] == [line.split()[:2] for line in table]
    assert table[0].split()[2:] == table[1].split()[2:]
    assert f"{figures.mean_factor:.2f}" in table[0].split()
    assert f"{count} of {count} random samples predicted" in found.text
    assert () == plain.samples
    assert "random samples" not in plain.text
    assert plain.models[CORE].weights == found.models[CORE].weights
    assert plain.models[CORE].fitted.conformal != found.models[CORE].fitted.conformal
    measured, tests, samples = recorded_folder(tmp_path / "device")
    family = fit(measured, CORE, nonnegative=True, others=tests, samples=samples)
    assert found.models[CORE].fitted.conformal == family.fitted.conformal


def test_files_are_those_that_it_names(found):
    assert {CORE, "overlap"} == found.weights_files.keys()
    written = {path.name for path in found.folder.iterdir()}
    assert {path.name for path in found.weights_files.values()} | REST == written
    assert found.weights_files[found.chosen] == recommended_weights(found.folder)
    assert found.text == (found.folder / "verdict.txt").read_text()


def test_the_verdict_is_that_of_the_core_papers_family(found, folder):
    model = load(found.weights_files[CORE])
    rows = compare(model, read(folder / "test.jsonl"))
    assert [row.predicted for row in rows] == pytest.approx([row.predicted for row in found.comparisons])
    assert f"verdict: {found.verdict.text}\n" in found.text
    assert not found.verdict.to_time  # the error is near 50 %
    for family in SOME:
        assert family in found.text.partition("all families on the same cases")[2]


def test_no_family_that_may_predict_times_below_zero_is_recommended():
    measured = read(DATA)
    below = fit(measured, CORE)
    assert below.below_zero
    assert ["bottleneck"] == calibrate._possible(measured, {CORE: below, "bottleneck": load(BOTTLENECK)})


def test_without_records_of_test_kernels_nothing_judges_and_what_is_doubtful_is_a_note(tmp_path):
    shutil.copytree(DATA, tmp_path / "device")
    (tmp_path / "device" / "test.jsonl").write_text("")  # the budget ended before
    write = "facts:\n  {}: {{value: {}, unit: B, source: 'measured, as if by a probe'}}\n"
    (tmp_path / "device" / "facts.yaml").write_text(
        write.format("last_level_bytes", 2**25) + write.partition("\n")[2].format("l3_bytes", 3 * 2**20)
    )
    found = fit_device(tmp_path / "device", names=(CORE,))
    assert (CORE, {CORE}) == (found.chosen, found.models.keys())
    assert "verdict: usable neither to time nor to rank\n- no test kernel is measured" in found.text
    (note,) = (note for note in found.notes if "last-level cache" in note)
    assert "a stream measures 32 MiB, a pointer chase measures 3 MiB" in note
    assert f"note: {note}" in (tmp_path / "device" / "verdict.txt").read_text()
    assert () == load(found.weights_files[CORE]).below_zero  # with its own options it would, and it is the only one


def test_one_problem_ends_nothing(found, listener):
    assert {CORE, "overlap"} == {*found.models}
    assert ["mwp_cwp"] == [*found.problems]
    assert [CORE, "overlap", f"mwp_cwp: {found.problems['mwp_cwp']}"] == [*filter(None, listener.notes)][: len(SOME)]
    written = found.weights_files[CORE]
    assert dict(load(written).weights) == dict(found.models[CORE].weights)
    assert json.loads(written.read_text())["options"]["fit_facts"] is True
