"""What bounds a kernel, with the weights of a device's folder."""

from __future__ import annotations

import shutil

import pytest

from perfmodel import store
from perfmodel.analyses.balance import judge_balance
from perfmodel.analyses.benefits import potential_benefits
from perfmodel.analyses.report_models import KernelBounds, bound_models
from perfmodel.predicting.model import load
from tests.recorded import POCL, SIMULATED

DEVICE = "GTX480 (simulated)"


@pytest.fixture(scope="module")
def case():
    tests = store.read(SIMULATED / "test.jsonl")
    row = next(row for row in tests if row.kernel == "nbody")
    return tests.counts[row.counts_hash], row.parameters


def test_both_models_judge(case):
    models = bound_models(SIMULATED, DEVICE)
    assert () == models.problems
    found = models.bounds(*case)
    assert judge_balance(load(SIMULATED / "work_depth.json"), *case) == found.balance
    assert potential_benefits(load(SIMULATED / "gpuperf.json"), *case) == found.benefits


def test_a_model_of_gpus_gives_no_advice_on_a_cpu(case):
    device = load(POCL / "work_depth.json").device
    found = bound_models(POCL, device)
    assert found.balance is not None
    assert found.benefits is None
    assert ("gpuperf assumes that work-items hide each other's latency, as on GPUs; this is a CPU",) == found.problems


def test_what_is_missing_or_of_another_device_is_named(case, tmp_path):
    shutil.copy(SIMULATED / "work_depth.json", tmp_path)
    found = bound_models(tmp_path, "another")
    assert ("the weights of work_depth are of GTX480 (simulated)",
            "the folder has no weights of gpuperf") == found.problems  # fmt: skip
    assert KernelBounds() == found.bounds(*case)


def test_weights_that_cannot_be_read_are_named(tmp_path):
    (tmp_path / "work_depth.json").write_text("{}")
    first, _ = bound_models(tmp_path, DEVICE).problems
    assert "work_depth.json" in first
