"""What bounds a kernel, and families side by side, with the weights of a device's folder."""

import json
import shutil
from pathlib import Path

import pytest

from perfmodel import store
from perfmodel.analyses.balance import judge_balance
from perfmodel.analyses.benefits import potential_benefits
from perfmodel.analyses.report_models import KernelBounds, bound_models, family_lines
from perfmodel.compare import compare, summarise
from perfmodel.fitting.device_folder import measured_folder
from perfmodel.predicting.model import load
from tests.recorded import POCL, SIMULATED

DEVICE = "GTX480 (simulated)"


@pytest.fixture(scope="module")
def case():
    tests = store.read(SIMULATED / "test.jsonl")
    row = next(row for row in tests if row.kernel == "nbody")
    return tests.counts[row.counts_hash], row.parameters


def test_both_models_judge_but_that_of_gpus_on_no_cpu(case):
    models = bound_models(SIMULATED, DEVICE)
    assert () == models.problems
    found = models.bounds(*case)
    assert judge_balance(load(SIMULATED / "work_depth.json"), *case) == found.balance
    assert potential_benefits(load(SIMULATED / "gpuperf.json"), *case) == found.benefits
    device = load(POCL / "work_depth.json").device
    found = bound_models(POCL, device)
    assert found.balance is not None
    assert found.benefits is None
    assert ("gpuperf assumes that work-items hide each other's latency, as on GPUs; this is a CPU",) == found.problems


def test_weights_that_are_missing_damaged_or_of_another_device_are_named(case, tmp_path):
    shutil.copy(SIMULATED / "work_depth.json", tmp_path)
    found = bound_models(tmp_path, "another")
    assert ("the weights of work_depth are of GTX480 (simulated)",
            "the folder has no weights of gpuperf") == found.problems  # fmt: skip
    assert KernelBounds() == found.bounds(*case)
    (tmp_path / "work_depth.json").write_text("{}")
    first, _ = bound_models(tmp_path, DEVICE).problems
    assert "work_depth.json" in first


FEW = ("stevens_kloeckner_2016", "roofline", "work_depth")


@pytest.fixture
def folder(tmp_path):
    for name in FEW:
        shutil.copy(SIMULATED / f"{name}.json", tmp_path)
    shutil.copy(SIMULATED / "device.json", tmp_path)
    (tmp_path / "recommended.json").write_text("{}")
    return tmp_path


@pytest.fixture(scope="module")
def compared():
    return measured_folder(SIMULATED)[1]


def test_families_have_the_figures_of_their_weights_the_best_first(folder, compared):
    asked: list[str] = []
    found = family_lines(load(folder / "roofline.json"), folder, compared, advance=asked.append)
    assert sorted(FEW) == asked
    errors = {name: summarise(compare(load(folder / f"{name}.json"), compared)).error for name in FEW}
    assert sorted(errors, key=errors.__getitem__) == [one.name for one in found]
    assert errors == {one.name: one.figures.error for one in found}
    assert {0} == {one.withheld for one in found}


def test_a_family_without_some_predictions_narrows_the_cases_of_all(folder, compared):
    path = folder / "stevens_kloeckner_2016.json"
    document = json.loads(path.read_text())
    del document["weights"]["op_float32_special"]
    document["features"] = sorted(document["weights"])
    path.write_text(json.dumps(document))
    rows = compare(load(path), compared)
    lost = sum(row.predicted is None for row in rows)
    assert 0 < lost < len(rows)
    found = {one.name: one for one in family_lines(load(path), folder, compared)}
    assert lost == found["stevens_kloeckner_2016"].withheld
    assert {len(rows) - lost} == {one.figures.cases for one in found.values()}


def test_weights_that_cannot_be_used_come_last_with_the_reason(folder, compared):
    (folder / "another.json").write_text("[]")
    foreign = Path(__file__).parents[2] / "fitted_weights" / "intel-amd-epyc" / "overlap.json"
    shutil.copy(foreign, folder)
    found = family_lines(load(folder / "roofline.json"), folder, compared)
    problems = {one.name: one.problem for one in found if one.figures is None}
    assert ["another", "overlap"] == [one.name for one in found[-2:]] == list(problems)
    assert "another.json" in problems["another"]
    assert "its weights are of AMD EPYC" == problems["overlap"]


def test_the_given_model_is_judged_where_the_folder_lacks_it(tmp_path, compared):
    (only,) = family_lines(load(SIMULATED / "roofline.json"), tmp_path, compared)
    assert "roofline" == only.name
    assert store.read(SIMULATED / "test.jsonl").device == compared.device
