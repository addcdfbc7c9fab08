"""Where calibrations are kept, how long they take, and which test kernels they measure."""

from __future__ import annotations

from dataclasses import replace

import pytest

from perfmodel import measuring, store
from perfmodel.calibration import calibrate
from perfmodel.calibration.kernel_choice import sampling
from perfmodel.errors import NothingMeasuredError
from perfmodel.facts import DeviceFacts, Fact
from perfmodel.measuring import CHECK, DEFAULT, FULL, QUICK, QUICK_CHECK
from perfmodel.opencl import Device
from perfmodel.store import Measurements
from tests.store.test_files import measurement

DEVICE = Device(0, DeviceFacts("D", "P", "1", (("lane_order", Fact("serial", "", "made up")),)))


def test_a_budget_shortens_what_is_measured_and_no_fit():
    for campaign in (QUICK, DEFAULT, FULL):
        whole, rest = calibrate.EXPECTED_S[campaign.name]
        assert whole + rest == calibrate.expected_s(campaign)
        assert 7 + rest == calibrate.expected_s(replace(campaign, budget_s=7.0))
        assert whole + rest == calibrate.expected_s(replace(campaign, budget_s=1e6))


@pytest.mark.parametrize(("campaign", "check"), [(QUICK, QUICK_CHECK), (DEFAULT, CHECK), (FULL, CHECK)])
def test_measurement_kernels_and_then_test_kernels(monkeypatch, tmp_path, campaign, check):
    runs = []
    monkeypatch.setattr(measuring, "measure", lambda *arguments: runs.append(arguments))
    calibrate.measure_device("device", tmp_path, campaign, "bar")
    (kernels, *first), (tests, *second), (samples, *third) = runs
    assert ["device", tmp_path, "bar", campaign] == first
    assert ["device", tmp_path / "test.jsonl", "bar", check] == second
    assert "empty" in [kernel.name for kernel in kernels]
    assert "stencil" in [kernel.name for kernel in tests]
    part, shipped = sampling(campaign)
    assert ["device", tmp_path / "samples.jsonl", "bar", part] == third
    assert [kernel.name for kernel in shipped] == [kernel.name for kernel in samples]


def test_beside_a_users_own_kernels_no_sample_is_measured(monkeypatch, tmp_path):
    runs = []
    monkeypatch.setattr(measuring, "measure", lambda *arguments: runs.append(arguments[2]))
    calibrate.measure_device("device", tmp_path, DEFAULT, kernels=())
    assert [tmp_path, tmp_path / "test.jsonl"] == runs


@pytest.mark.parametrize(
    ("took", "left", "last"), [(80.0, 20.0, 10.0), (30.0, 70.0, 40.0), (95.0, 20.0, 10.0), (46.0, 54.0, 10.0)]
)
def test_test_kernels_get_at_least_a_fifth_of_a_budget_and_samples_a_tenth(monkeypatch, tmp_path, took, left, last):
    now, budgets = [1000.0], []

    def measure(kernels, device, path, progress, campaign):
        budgets.append(campaign.budget_s)
        now[0] += took

    monkeypatch.setattr(calibrate, "monotonic", lambda: now[0])
    monkeypatch.setattr(measuring, "measure", measure)
    calibrate.measure_device("device", tmp_path, replace(QUICK, budget_s=100.0))
    assert [pytest.approx(80.0), pytest.approx(left), pytest.approx(last)] == budgets


def test_probes_count_too_and_a_quick_campaign_fits_only_what_can_be_recommended(monkeypatch, tmp_path):
    now, seen = [0.0], {}
    monkeypatch.setattr(calibrate, "monotonic", lambda: now[0])
    monkeypatch.setattr(calibrate, "probe_device", lambda *_: now.__setitem__(0, 12.0))
    monkeypatch.setattr(calibrate, "measure_device", lambda *given: seen.update(campaign=given[2]))
    monkeypatch.setattr(calibrate, "fit_device", lambda folder, **given: seen.update(folder=folder, **given))
    monkeypatch.setattr(store, "read", lambda folder: Measurements((measurement(),), {}, facts=DEVICE.facts))
    calibrate.calibrate(DEVICE, tmp_path, replace(QUICK, budget_s=100.0))
    assert 88.0 == seen["campaign"].budget_s
    assert tmp_path == seen["folder"]
    assert ("bottleneck", "stevens_kloeckner_2016") == seen["names"]
    calibrate.calibrate(DEVICE, tmp_path, DEFAULT)
    assert (DEFAULT, ()) == (seen["campaign"], seen["names"])


@pytest.mark.parametrize("first", [False, True])
def test_counting_before_the_clock_starts_leaves_the_budget_to_measuring(monkeypatch, tmp_path, first):
    """Counting takes 70 s, which the budget of 130 s does not pay for."""
    now, seen, counted = [0.0], {}, []

    def count_kernels(kernels, device, campaign, progress):
        counted.append(([kernel.name for kernel in kernels], campaign.name))
        now[0] += 35.0

    monkeypatch.setattr(calibrate, "monotonic", lambda: now[0])
    monkeypatch.setattr(calibrate, "count_kernels", count_kernels)
    monkeypatch.setattr(calibrate, "probe_device", lambda *_: now.__setitem__(0, now[0] + 10.0))
    monkeypatch.setattr(calibrate, "measure_device", lambda *given: seen.update(campaign=given[2]))
    monkeypatch.setattr(calibrate, "fit_device", lambda *_, **__: None)
    monkeypatch.setattr(store, "read", lambda folder: Measurements((measurement(),), {}))
    calibrate.calibrate(DEVICE, tmp_path, replace(QUICK, budget_s=130.0), counted_first=first)
    assert 120.0 == seen["campaign"].budget_s
    assert (["quick", "test"] if first else []) == [name for _, name in counted]
    assert not first or ("empty" in counted[0][0] and "stencil" in counted[1][0])


@pytest.mark.parametrize(("first", "left"), [(True, 78.0), (False, 0.0)])
def test_slow_probes_leave_time_to_measure_in_a_budget_of_perfmodel_s_own(monkeypatch, tmp_path, first, left):
    """On a busy machine they took 148 s of 130, and nothing was measured; a user's budget holds."""
    now, seen = [0.0], {}
    monkeypatch.setattr(calibrate, "monotonic", lambda: now[0])
    monkeypatch.setattr(calibrate, "count_kernels", lambda *_: None)
    monkeypatch.setattr(calibrate, "probe_device", lambda *_: now.__setitem__(0, 148.0))
    monkeypatch.setattr(calibrate, "measure_device", lambda *given: seen.update(campaign=given[2]))
    monkeypatch.setattr(calibrate, "fit_device", lambda *_, **__: None)
    monkeypatch.setattr(store, "read", lambda folder: Measurements((measurement(),), {}))
    calibrate.calibrate(DEVICE, tmp_path, replace(QUICK, budget_s=130.0), counted_first=first)
    assert pytest.approx(left) == seen["campaign"].budget_s


def test_a_calibration_that_measured_nothing_says_so_and_fits_nothing(monkeypatch, tmp_path):
    (tmp_path / "measurements.jsonl").touch()
    monkeypatch.setattr(calibrate, "probe_device", lambda *_: None)
    monkeypatch.setattr(calibrate, "measure_device", lambda *_: None)
    monkeypatch.setattr(calibrate, "fit_device", lambda *_, **__: pytest.fail("nothing is fitted"))
    with pytest.raises(NothingMeasuredError, match=f"nothing was measured into '{tmp_path}'.*a larger --budget"):
        calibrate.calibrate(DEVICE, tmp_path, replace(QUICK, budget_s=5.0))
