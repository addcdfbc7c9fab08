"""What a report shows, from the recorded quickstart and from cases by hand."""

import dataclasses
import json
import math
import shutil
from pathlib import Path

import pytest

from perfmodel import store
from perfmodel.analyses.balance import judge_balance
from perfmodel.analyses.benefits import potential_benefits
from perfmodel.analyses.report_data import FITTED, TESTS, KernelBounds, bound_models, family_lines, report_data
from perfmodel.compare import compare, summarise
from perfmodel.display import values_text
from perfmodel.errors import OptionError, SizeError, StoreError
from perfmodel.fitting.device_folder import measured_folder
from perfmodel.predicting.model import fit, load
from tests.predicting.test_model import MODEL
from tests.recorded import POCL, QUICKSTART, SIMULATED


@pytest.fixture(scope="module")
def model():
    return fit(store.read(QUICKSTART))


@pytest.fixture(scope="module")
def found(model):
    return report_data(model, QUICKSTART)


def test_test_kernels_are_compared_as_elsewhere(found, model):
    tests = store.read(QUICKSTART / "test.jsonl")
    assert (TESTS, compare(model, tests)) == (found.judged_on, found.comparisons)
    assert pytest.approx(0.440, abs=5e-4) == found.figures.error
    assert not found.verdict.to_time
    assert (model.device, "stevens_kloeckner_2016", 0.9) == (found.device, found.family.name, found.level)
    assert (tests.rows[0].platform, (tests.rows[0].driver,)) == (found.platform, found.drivers)


def test_random_samples_take_part_in_the_verdict_which_there_is_only_with_test_kernels(model, tmp_path):
    shutil.copytree(QUICKSTART, tmp_path / "device")
    shutil.copy(QUICKSTART / "test.jsonl", tmp_path / "device" / "samples.jsonl")  # stand for samples
    verdict = report_data(model, tmp_path / "device").verdict
    assert any("random samples predicted, with errors of 44.0 %" in reason for reason in verdict.reasons)
    (tmp_path / "device" / "samples.jsonl").write_text("")
    assert not any("random samples" in reason for reason in report_data(model, tmp_path / "device").verdict.reasons)
    for name in ("measurements.jsonl", "counts.jsonl"):
        shutil.copy(QUICKSTART / name, tmp_path)
    found = report_data(model, tmp_path)
    assert (FITTED, None, 115) == (found.judged_on, found.verdict, len(found.comparisons))


def test_terms_are_of_the_largest_sizes_and_add_up(found):
    by_kernel = {one.kernel: one for one in found.kernels}
    assert ["convolution", "matmul_skinny", "nbody", "stencil"] == sorted(by_kernel)
    nbody = by_kernel["nbody"]
    assert ("n=8192", True) == (nbody.sizes, nbody.adds_up)
    assert pytest.approx(nbody.seconds) == sum(share.seconds for share in nbody.terms)
    assert [("op_float32_add", 31), ("op_float32_special", 29)] == [
        (share.term, round(100 * share.share)) for share in nbody.terms[:2]
    ]
    assert pytest.approx(24.5e-3, rel=3e-3) == nbody.measured


def test_a_users_variants_are_ranked(model):
    measured = store.read(QUICKSTART)
    named = {f"{row.kernel} {values_text(row.variant)}": measured.counts[row.counts_hash] for row in measured}
    counts = {name: one for name, one in named.items() if one.parameters == ("n",)}
    assert len(counts) > 1
    sizes = {"n": 2**18}
    found = report_data(model, QUICKSTART, counts, sizes, level=0.5)
    assert sorted(counts) == sorted(one.name for one in found.ranking)
    assert [one.seconds for one in found.ranking] == sorted(one.seconds for one in found.ranking)
    assert [one.name for one in found.ranking] == [one.kernel for one in found.own]
    assert {None} == {one.measured for one in found.own}
    assert all(one.bound_by == max(one.terms, key=lambda share: abs(share.seconds)).term for one in found.own)
    assert () == found.own_points  # the quickstart knows no size of a transfer
    assert 0.5 == found.level
    with pytest.raises(SizeError):
        report_data(model, QUICKSTART, counts, {})


def test_times_of_a_users_variants_are_next_to_predictions(model):
    """They are of the same code, sizes and device: not of another size, nor of a variant that has changed since."""
    rows = store.read(QUICKSTART)
    row = next(iter(rows))
    counts = rows.counts[row.counts_hash]

    def measured(**changed):
        run = row.model_copy(update={"variant": {"variant": "mine"}, **changed})
        timed = store.Measurements((run,), rows.counts_documents, facts=rows.facts)
        (own,) = report_data(model, QUICKSTART, {"mine": counts}, row.parameters, timed=timed).own
        return own.measured

    assert row.seconds_by(model.clock) == measured()
    assert measured(variant={"variant": "other"}) is None
    assert measured(parameters={name: 2 * size for name, size in row.parameters.items()}) is None


def test_features_that_nobody_measured_are_named_with_the_kernels(model):
    needy = dataclasses.replace(model, fitted=model.fitted.model_copy(update={
        "weights": {n: w for n, w in model.fitted.weights.items() if n != "op_float32_special"},
    }))  # fmt: skip
    tests = store.read(QUICKSTART / "test.jsonl")
    nbody = next(tests.counts[row.counts_hash] for row in tests if row.kernel == "nbody")
    found = report_data(dataclasses.replace(needy, strict=True), QUICKSTART, {"mine": nbody}, {"n": 1024})
    assert {"op_float32_special": ("nbody", "mine")} == found.unmeasured
    assert ["mine"] == list(found.withheld)
    assert "op_float32_special" in found.withheld["mine"]
    assert () == found.ranking == found.own
    assert "nbody" not in {one.kernel for one in found.kernels}


def test_other_devices_and_folders_are_refused(model, tmp_path):
    with pytest.raises(StoreError, match="stand-in"):
        report_data(MODEL, QUICKSTART)
    with pytest.raises(StoreError):
        report_data(model, tmp_path)
    with pytest.raises(OptionError):
        report_data(model, QUICKSTART, level=1.5)


#: What is left of a committed device, where all families, test kernels and samples would take half a minute.
KEPT = {"test.jsonl": ("convolution", "nbody"), "samples.jsonl": ("sample_1", "sample_10")}
FAMILIES = ("bottleneck", "work_depth")


@pytest.fixture
def part_of_device(tmp_path):
    """A folder with some test kernels, samples and families of a device, and all else that it holds."""
    for path in POCL.iterdir():
        if path.name in KEPT:
            rows = path.read_text().splitlines(keepends=True)
            kept = (row for row in rows if json.loads(row)["kernel"] in KEPT[path.name])
            (tmp_path / path.name).write_text("".join(kept))
        elif path.suffix != ".json" or path.stem in ("device", *FAMILIES):
            (tmp_path / path.name).symlink_to(path)
    return tmp_path


def test_a_campaign_with_facts_has_points_below_the_roofs(part_of_device):
    tests = store.read(part_of_device / "test.jsonl")
    row = next(row for row in tests if row.kernel == "nbody")
    mine = {"mine": tests.counts[row.counts_hash]}
    found = report_data(load(POCL / "bottleneck.json"), part_of_device, mine, row.parameters)
    assert "peak_flops_float32" in {line.key for line in found.facts}
    assert len(found.points) == len({(row.kernel, row.form) for row in found.comparisons})
    assert all(math.isfinite(one.seconds) for one in found.kernels)
    assert not all(one.adds_up for one in found.kernels)
    (own,), (variant,) = found.own_points, found.ranking
    assert ("mine", variant.seconds) == (own.kernel, own.seconds)
    assert own.attainable > 0


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
