"""What is found of the paper's claims on its fit, with times by hand and on a recorded device."""

from __future__ import annotations

from dataclasses import replace

import pytest

from perfmodel.fitting.device_folder import recorded_folder
from scripts.lab.experiments.linear import STUDY
from scripts.lab.studies.nine_classes import Case, Fit
from scripts.lab.studies.nine_classes_claims import errors_claim, groups_claim, launch_claim
from scripts.lab.study_runs import study_data
from tests.recorded import SIMULATED

pytestmark = pytest.mark.nightly  # research code, and long

CASES = (Case("stencil", "n=1", 1.0, 1.1), Case("nbody", "n=1", 1.0, 1.2), Case("nbody", "n=2", 2.0, 1.6))
FIT = Fit({"empty": 3}, {"launches": 1.0}, 0.0, CASES, {})


def test_errors_are_judged_on_gpus_only():
    assert errors_claim(FIT, gpu=True).agrees  # the mean of 10 and 20 % is 14 %
    worse = replace(FIT, cases=(Case("stencil", "n=1", 1.0, 1.3),))
    assert errors_claim(worse, gpu=True).agrees is False
    assert errors_claim(worse, gpu=False).agrees is None
    assert errors_claim(None, gpu=True).agrees is None
    lacking = replace(FIT, withheld={"convolution": ("op_float32_pow",)})
    assert "convolution is not predicted, since op_float32_pow was never measured" in errors_claim(lacking, True).found


def row(kernel="empty", times=(9.0, 9.0, 9.0, 9.0, 1.0, 1.02), launch=0.1, **parameters):
    sample = recorded_folder(SIMULATED)[0].rows[0]
    return sample.model_copy(update={
        "kernel": kernel, "samples_s": times, "dropped": 2, "launch_overhead_s": launch,
        "variant": {"work_group": [16]}, "parameters": parameters or {"m": 2, "n": 2},
    })  # fmt: skip


def test_groups_and_launches():
    other = row(times=(2.0,) * 6).model_copy(update={"variant": {"work_group": [32]}})
    assert groups_claim([row(), other]).agrees is False
    assert groups_claim([row()]).agrees is None
    assert launch_claim([row(), row(times=(2.0,) * 6, m=4, n=4)]).agrees
    assert launch_claim([row()]).agrees is None


def test_a_recorded_device(tmp_path):
    found = STUDY.examine(study_data(STUDY, tmp_path, SIMULATED))
    assert ["Table 1", "Section 5", "Section 4.2", "Section 5, work-groups", "Section 2.4"] == [
        one.source for one in found.claims
    ]
    assert {"", "errors", "weights", "strides"} == found.tables.keys()
    assert 8 == len(found.tables[""])
    assert {"tests"} == found.pictures.keys()
