"""Studies on a device: what is measured, where, and what a study then sees."""

from dataclasses import replace

import pytest

from perfmodel.compare import compare
from perfmodel.predicting.model import load
from perfmodel.store import read
from scripts.lab import study_runs
from scripts.lab.experiments import studies
from scripts.lab.studies import Findings, Study
from tests.campaigns import SCALE, TINY
from tests.machine import device
from tests.recorded import POCL

pytestmark = pytest.mark.nightly  # research code, and long


@pytest.mark.device
@pytest.mark.usefixtures("times_are_believed")
def test_a_study_sees_its_measurements_and_the_devices_models(tmp_path):
    study = Study("scaling", "Scaling", "nobody", "nothing", ("scale",), lambda data: Findings((), {}))
    kernel = replace(SCALE, variants=({"factor": 2}, {"factor": 3}), ranked=True)
    study_runs.measure_study(study, device(), tmp_path, TINY, kernels=[kernel])
    data = study_runs.study_data(study, tmp_path, POCL)
    assert 6 == len(data.measured) == len(read(tmp_path / "scaling.jsonl"))
    assert () == data.failed
    assert data.model().family.name == data.recommended == "bottleneck"
    assert "stevens_kloeckner_2016" in data.families
    model = load(POCL / "overlap.json")
    assert [row.predicted for row in compare(model, data.measured)] == [row.predicted for row in data.cases("overlap")]
    assert data.facts.value("compute_units") == data.measured.facts.value("compute_units")


def test_every_study_finds_its_kernels():
    for one in studies().values():
        assert one.kernels == tuple(kernel.name for kernel in study_runs.kernels_of(one))
