"""Where calibrations are kept, how long they take, what they measure, and families fitted to a folder."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from perfmodel import measuring, store
from perfmodel.calibration import calibrate
from perfmodel.calibration.calibrate import CORE, files_of_all, fit_device
from perfmodel.calibration.kernel_choice import sampling
from perfmodel.calibration.recommended import recommended_weights
from perfmodel.compare import compare, summarise
from perfmodel.errors import FitError
from perfmodel.facts import DeviceFacts, Fact
from perfmodel.fitting.device_folder import recorded_folder
from perfmodel.measuring import CHECK, DEFAULT, FULL, QUICK, QUICK_CHECK
from perfmodel.measuring.campaign import BRIEF_CHECK
from perfmodel.models import families
from perfmodel.opencl import Device
from perfmodel.predicting.model import fit, load
from perfmodel.progress import Silent
from perfmodel.store import Measurements, read
from tests.machine import ROOT
from tests.recorded import QUICKSTART
from tests.store.test_files import measurement

DEVICE = Device(0, DeviceFacts("D", "P", "1", (("lane_order", Fact("serial", "", "made up")),)))
DEVICE_OF_TWO = Device(0, DEVICE.facts.updated({"max_work_group_size": Fact(4096, "", "made up")}))
FITTED = calibrate.FittedDevice(Path(), "D", {}, {}, (), "", (), ())


def test_a_budget_shortens_what_is_measured_but_neither_making_nor_fits():
    for campaign in (QUICK, DEFAULT, FULL):
        whole = calibrate.expected_phases(campaign, DEVICE_OF_TWO, made_first=True)
        making_s, fits_s = whole["making kernels"], whole["fits"]
        assert {"making kernels": making_s, **calibrate.EXPECTED_S[campaign.name]} == whole
        assert whole == calibrate.expected_phases(replace(campaign, budget_s=1e6), DEVICE_OF_TWO, made_first=True)
        short = calibrate.expected_phases(replace(campaign, budget_s=7.0), DEVICE_OF_TWO, made_first=True)
        assert (making_s, fits_s) == (short.pop("making kernels"), short.pop("fits"))
        assert pytest.approx(7.0) == sum(short.values())
    # also on a machine that takes 1.5 times as long: the budget ends what is measured
    phases = calibrate.expected_phases(DEFAULT, DEVICE_OF_TWO, made_first=True)
    assert 240 < sum(phases.values()) < 360
    assert 1.5 * (phases["making kernels"] + phases["fits"]) + calibrate.DEFAULT_S < 480
    assert sum(calibrate.expected_phases(QUICK, DEVICE_OF_TWO, made_first=True).values()) < 180


@pytest.mark.parametrize(("campaign", "check"), [(QUICK, QUICK_CHECK), (DEFAULT, BRIEF_CHECK), (FULL, CHECK)])
def test_measurement_kernels_and_then_test_kernels(monkeypatch, tmp_path, campaign, check):
    runs = []
    monkeypatch.setattr(measuring, "measure", lambda *arguments, made: runs.append(arguments))
    calibrate.measure_device("device", tmp_path, campaign, "bar")
    (kernels, *first), (tests, *second), (samples, *third) = runs
    assert ["device", tmp_path, "bar", campaign] == first
    assert ["device", tmp_path / "test.jsonl", "bar", check] == second
    assert "empty" in [kernel.name for kernel in kernels]
    assert "stencil" in [kernel.name for kernel in tests]
    part, shipped = sampling(campaign)
    assert ["device", tmp_path / "samples.jsonl", "bar", part] == third
    assert [kernel.name for kernel in shipped] == [kernel.name for kernel in samples]


@pytest.mark.parametrize(
    ("took", "left", "last"), [(80.0, 20.0, 10.0), (30.0, 70.0, 40.0), (95.0, 20.0, 10.0), (46.0, 54.0, 10.0)]
)
def test_test_kernels_get_at_least_a_fifth_of_a_budget_and_samples_a_tenth(monkeypatch, tmp_path, took, left, last):
    now, budgets = [1000.0], []

    def measure(kernels, device, path, progress, campaign, made):
        budgets.append(campaign.budget_s)
        now[0] += took

    monkeypatch.setattr(calibrate, "monotonic", lambda: now[0])
    monkeypatch.setattr(measuring, "measure", measure)
    calibrate.measure_device("device", tmp_path, replace(QUICK, budget_s=100.0))
    assert [pytest.approx(80.0), pytest.approx(left), pytest.approx(last)] == budgets


def test_probes_count_too_and_only_what_can_be_recommended_is_fitted(monkeypatch, tmp_path):
    now, seen = [0.0], {}
    monkeypatch.setattr(calibrate, "monotonic", lambda: now[0])
    monkeypatch.setattr(calibrate, "probe_device", lambda *_: now.__setitem__(0, 12.0))
    monkeypatch.setattr(calibrate, "measure_device", lambda *given: seen.update(campaign=given[2]))
    monkeypatch.setattr(calibrate, "fit_device", lambda folder, **given: seen.update(folder=folder, **given) or FITTED)
    monkeypatch.setattr(store, "read", lambda folder: Measurements((measurement(),), {}, facts=DEVICE.facts))
    calibrate.calibrate(DEVICE, tmp_path, replace(QUICK, budget_s=100.0))
    assert 88.0 == seen["campaign"].budget_s
    assert tmp_path == seen["folder"]
    assert ("bottleneck", "stevens_kloeckner_2016") == seen["names"]
    calibrate.calibrate(DEVICE, tmp_path, DEFAULT)
    assert (DEFAULT, ("bottleneck", "stevens_kloeckner_2016")) == (seen["campaign"], seen["names"])


@pytest.mark.parametrize(
    ("first", "probes_s", "left_s"), [(True, 10., 120.), (False, 10., 120.), (True, 148., 78.), (False, 148., 0.)]
)
def test_making_kernels_is_not_in_the_budget_and_probes_leave_time(monkeypatch, tmp_path, first, probes_s, left_s):
    """Making takes 70 s. Slow probes leave time to measure in a budget of perfmodel's own; a user's budget holds."""
    now, seen, made = [0.0], {}, []

    def make_kernels(parts, device, progress):
        made.extend(([kernel.name for kernel in kernels], campaign.name) for kernels, campaign in parts)
        now[0] += 70.0
        return {}

    monkeypatch.setattr(calibrate, "monotonic", lambda: now[0])
    monkeypatch.setattr(calibrate, "make_kernels", make_kernels)
    monkeypatch.setattr(calibrate, "probe_device", lambda *_: now.__setitem__(0, now[0] + probes_s))
    monkeypatch.setattr(calibrate, "measure_device", lambda *given: seen.update(campaign=given[2]))
    monkeypatch.setattr(calibrate, "fit_device", lambda *_, **__: FITTED)
    monkeypatch.setattr(store, "read", lambda folder: Measurements((measurement(),), {}))
    calibrate.calibrate(DEVICE, tmp_path, replace(QUICK, budget_s=130.0), made_first=first)
    assert pytest.approx(left_s) == seen["campaign"].budget_s
    assert (["quick", "test", "samples"] if first else []) == [name for _, name in made]
    assert not first or ("empty" in made[0][0] and "stencil" in made[1][0])


def test_a_calibration_that_measured_nothing_says_so_and_fits_nothing(monkeypatch, tmp_path):
    (tmp_path / "measurements.jsonl").touch()
    monkeypatch.setattr(calibrate, "probe_device", lambda *_: None)
    monkeypatch.setattr(calibrate, "measure_device", lambda *_: None)
    monkeypatch.setattr(calibrate, "fit_device", lambda *_, **__: pytest.fail("nothing is fitted"))
    with pytest.raises(FitError, match=f"nothing was measured into '{tmp_path}'.*a larger --budget"):
        calibrate.calibrate(DEVICE, tmp_path, replace(QUICK, budget_s=5.0))


BOTTLENECK = ROOT / "fitted_weights" / "pocl-skylake-avx512-amd-epyc" / "bottleneck.json"
SOME = (CORE, "overlap", "mwp_cwp")  # the last one needs facts of the device that this folder does not hold

REST = {"recommended.json", "roofs.yaml", "verdict.txt"}
NOTES = []  # what is reported of each step

#: The fixture `found` is made before this one, with several processes as by default.
pytestmark = pytest.mark.usefixtures("one_process")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("devices") / "device"
    shutil.copytree(QUICKSTART, path)
    return path


@pytest.fixture(scope="module")
def found(folder):
    with pytest.MonkeyPatch.context() as patch:
        known = {name: families()[name] for name in SOME}
        patch.setattr(calibrate, "families", lambda: known)
        assert {f"{name}.json" for name in SOME} | REST == {path.name for path in files_of_all(folder)}
        listener = Silent()
        listener.advance = lambda note="", seconds=0.0: NOTES.append(note)
        return fit_device(folder, folder.parent / "out", listener)


def test_without_test_kernels_measured_ones_are_judged_by_fits_without_their_group(tmp_path):
    shutil.copytree(QUICKSTART, tmp_path / "device")
    (tmp_path / "device" / "test.jsonl").unlink()
    found = fit_device(tmp_path / "device", names=(CORE,))
    (contender,) = found.contenders
    measured = read(QUICKSTART)
    assert len(measured) == len(found.comparisons)
    assert contender.by("groups").rows == tuple(row for row in found.comparisons if row.predicted is not None)
    assert ("groups", "kernels", "variants") == contender.protocols
    assert "no test kernels; the verdict is for measured kernels, each by a fit without its group" in found.text
    assert fit(measured, CORE, nonnegative=True).weights == found.models[CORE].weights  # it is the only candidate


def test_samples_stand_beside_the_test_kernels_in_the_verdict(tmp_path):
    shutil.copytree(QUICKSTART, tmp_path / "device")
    shutil.copy(QUICKSTART / "test.jsonl", tmp_path / "device" / "samples.jsonl")  # stand for samples
    found, plain = (fit_device(path, tmp_path, names=(CORE,)) for path in (tmp_path / "device", QUICKSTART))
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


def test_files_are_those_that_it_names_and_the_verdict_is_that_of_the_core_papers_family(found, folder):
    assert {CORE, "overlap"} == found.weights_files.keys()
    written = {path.name for path in found.folder.iterdir()}
    assert {path.name for path in found.weights_files.values()} | REST == written
    assert found.weights_files[found.chosen] == recommended_weights(found.folder)
    assert found.text == (found.folder / "verdict.txt").read_text()
    rows = compare(load(found.weights_files[CORE]), read(folder / "test.jsonl"))
    assert [row.predicted for row in rows] == pytest.approx([row.predicted for row in found.comparisons])
    assert f"verdict: {found.verdict.text}\n" in found.text
    assert not found.verdict.to_time  # the error is near 50 %
    for family in SOME:
        assert family in found.text.partition("all families on the same cases")[2]


def test_no_family_that_may_predict_times_below_zero_is_recommended():
    measured = read(QUICKSTART)
    below = fit(measured, CORE)
    assert below.below_zero
    assert ["bottleneck"] == calibrate._possible(measured, {CORE: below, "bottleneck": load(BOTTLENECK)})


def test_without_records_of_test_kernels_nothing_judges_and_what_is_doubtful_is_a_note(tmp_path):
    shutil.copytree(QUICKSTART, tmp_path / "device")
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


def test_one_problem_ends_nothing(found):
    assert {CORE, "overlap"} == {*found.models}
    assert ["mwp_cwp"] == [*found.problems]
    assert [CORE, "overlap", f"mwp_cwp: {found.problems['mwp_cwp']}"] == [*filter(None, NOTES)][: len(SOME)]
    written = found.weights_files[CORE]
    assert dict(load(written).weights) == dict(found.models[CORE].weights)
    assert json.loads(written.read_text())["options"]["fit_facts"] is True
