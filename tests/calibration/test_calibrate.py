"""Where calibrations are kept, how long they take, and which test kernels they measure."""

from __future__ import annotations

from dataclasses import replace

import pytest

from perfmodel import measuring
from perfmodel.calibration import calibrate
from perfmodel.measuring import CHECK, DEFAULT, FULL, QUICK, QUICK_CHECK


def test_a_budget_shortens_only_the_campaign():
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
    (kernels, *first), (tests, *second) = runs
    assert ["device", tmp_path, "bar", campaign] == first
    assert ["device", tmp_path / "test.jsonl", "bar", check] == second
    assert "empty" in [kernel.name for kernel in kernels]
    assert "stencil" in [kernel.name for kernel in tests]
