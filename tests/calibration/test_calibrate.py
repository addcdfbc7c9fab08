"""Where calibrations are kept, how long they take, and which test kernels they measure."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from perfmodel import measuring, store
from perfmodel.calibration import calibrate
from perfmodel.calibration.kernel_choice import sampling
from perfmodel.errors import FitError
from perfmodel.facts import DeviceFacts, Fact
from perfmodel.measuring import CHECK, DEFAULT, FULL, QUICK, QUICK_CHECK
from perfmodel.measuring.campaign import BRIEF_CHECK
from perfmodel.opencl import Device
from perfmodel.store import Measurements
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


def test_calibrations_keep_to_three_and_eight_minutes():
    """Also on a machine that takes 1.5 times as long: the budget ends what is measured."""
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
