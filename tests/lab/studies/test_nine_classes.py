"""The paper's fit to nine classes: planted weights, the pages' numbers, printed tables, and claims by hand."""

import csv
import math
import re
from collections import defaultdict
from dataclasses import replace
from statistics import fmean

import numpy as np
import pytest

from perfmodel.features import evaluate
from perfmodel.fitting.device_folder import recorded_folder
from perfmodel.models import find_family
from perfmodel.quantities.case import Case
from perfmodel.store.measurement import Visit
from scripts.lab.experiments.linear import STUDY
from scripts.lab.studies import nine_classes, printed_times as published
from scripts.lab.studies.nine_classes import PRINTED, Fit, errors_of, errors_row, fitted, kept, local_strides
from scripts.lab.studies.nine_classes_claims import errors_claim, groups_claim, launch_claim
from scripts.lab.study_runs import study_data
from tests.machine import ROOT
from tests.recorded import SIMULATED

PAGE = (ROOT / "docs" / "lab" / "experiments" / "linear.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def simulated():
    return recorded_folder(SIMULATED)[:2]


def test_the_protocol_is_30_runs_without_the_first_four(simulated):
    row = next(iter(simulated[0]))
    times = tuple(float(100 - place) for place in range(40))
    one = row.model_copy(update={"samples_s": times, "visits": (), "dropped": 2})
    assert times[4:30] == kept(one)
    three = one.model_copy(update={"samples_s": times[:30], "visits": (Visit(runs=10, dropped=2),) * 3})
    assert (*times[2:10], *times[12:20], *times[22:30]) == kept(three)
    assert 26 == len(kept(one.model_copy(update={"visits": (Visit(runs=10, dropped=2),) * 4})))
    assert row.samples_s[1:] == kept(row)  # two runs, of which one counts


def test_the_fit_finds_weights_that_were_planted(simulated, monkeypatch):
    """Every row's time is the inner product of its features with 1e-12 times the place of the feature."""
    family, (measured, tests) = find_family("stevens_kloeckner_2016"), simulated
    planted = {}

    def seconds(row):
        counts = (measured if row in tuple(measured) else tests).counts[row.counts_hash]
        values = family.values(Case(counts, row.parameters, None, family.name))
        chosen = {name: value for name, value in values.items() if family.takes(name)}
        return (sum(1e-12 * (1 + planted.setdefault(name, len(planted))) * v for name, v in chosen.items()),)

    monkeypatch.setattr(nine_classes, "kept", seconds)
    found = fitted(measured, tests)
    assert pytest.approx(0, abs=1e-9) == found.spread
    assert dict.fromkeys(("stencil", "matmul_skinny", "nbody", "convolution", ""), 1e-3) == pytest.approx(found.errors)
    # Loads, stores and the smaller of both of one stride are equal in `scale_add`; all others differ.
    known = [name for name in found.weights if "stride2_1of2" not in name and "stride3_1of3" not in name]
    assert [1e-12 * (1 + planted[name]) for name in known] == pytest.approx([found.weights[name] for name in known])


def test_errors_are_geometric_means_in_the_papers_order():
    found = errors_of([("nbody", 0.4), ("stencil", 0.1), ("nbody", 0.1)])
    assert ["stencil", "nbody", ""] == list(found)
    assert (0.1, 0.2, 0.02**0.5) == pytest.approx((found["stencil"], found["nbody"], found[""]))
    assert {} == errors_of([])
    for card, errors in PRINTED.items():
        kernels = [error for kernel, error in errors.items() if kernel]
        assert errors[""] == pytest.approx(np.exp(np.mean(np.log(kernels))), abs=0.01), card


def test_the_page_has_the_errors(simulated):
    for card, errors in PRINTED.items():
        assert f"| {' | '.join(errors_row(card, '', errors))} |" in PAGE
    found = fitted(*simulated)
    row = errors_row("`gpgpu-sim-gtx480`, least", str(sum(found.rows.values())), found.errors)
    assert f"| {' | '.join(row)} |" in PAGE
    assert found.errors == fitted(*simulated, reduce=fmean).errors  # one run each


def test_classes_by_stride_share_out_the_loads(simulated):
    """The classes of a kernel add up to its local loads and stores, whichever their strides."""
    measured, _ = simulated
    (binned,) = {form.classes for name, form in local_strides().items() if "stride" in name}
    for row in [row for row in measured if row.kernel in ("local_banks", "local_bank_stores", "matmul_tiled")][:12]:
        counts = measured.counts[row.counts_hash]
        plain, classes = evaluate(counts, row.parameters), evaluate(counts, row.parameters, binned)
        for prefix in ("local_load_32", "local_store_32", "local_load_64", "local_store_64"):
            parts = [value for name, value in classes.items() if name.startswith(prefix)]
            assert plain.get(prefix, 0) == sum(parts)
        if row.kernel == "local_banks" and row.variant.get("dtype") != "float64":
            assert f"local_load_32_stride{row.variant['stride']}" in classes


def test_the_page_has_the_errors_that_are_drawn():
    """The two tables by hand of docs/lab/experiments/linear.md, and those that scripts/papers writes."""
    names = ("stencil", "matmul_skinny", "nbody", "convolution", "mean")
    drawn = {}
    for path in (ROOT / "docs" / "data" / "experiments").glob("*/linear-[es]*s.csv"):
        for one in csv.DictReader(path.read_text(encoding="utf-8").splitlines()):
            if "time" in one:
                cells = [one["rows"], *(f"{100 * float(one[name]):.0f} %" if one.get(name) else "-" for name in names)]
            else:
                cells = [f"{100 * float(one[name]):.1f} %" for name in ("error_A", "error_sizes")]
            drawn[path.parent.name, one.get("time") or one["charged"]] = " | ".join(cells)
    found = re.findall(r"^\| `([\w-]+)`(?:, | \| )([\w ]+) \| (.*) \|$", PAGE, re.MULTILINE)
    shown = {(slug, way): cells for slug, way, cells in found}
    assert len(shown) > 20
    assert {key: drawn[key] for key in shown} == shown


CASES = tuple(
    nine_classes.Case(*case)
    for case in (("stencil", "n=1", 1.0, 1.1), ("nbody", "n=1", 1.0, 1.2), ("nbody", "n=2", 2.0, 1.6))
)
FIT = Fit({"empty": 3}, {"launches": 1.0}, 0.0, CASES, {})


@pytest.mark.nightly
def test_errors_are_judged_on_gpus_only():
    assert errors_claim(FIT, gpu=True).agrees  # the mean of 10 and 20 % is 14 %
    worse = replace(FIT, cases=(nine_classes.Case("stencil", "n=1", 1.0, 1.3),))
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


@pytest.mark.nightly
def test_groups_and_launches():
    other = row(times=(2.0,) * 6).model_copy(update={"variant": {"work_group": [32]}})
    assert groups_claim([row(), other]).agrees is False
    assert groups_claim([row()]).agrees is None
    assert launch_claim([row(), row(times=(2.0,) * 6, m=4, n=4)]).agrees
    assert launch_claim([row()]).agrees is None


@pytest.mark.nightly
def test_a_recorded_device(tmp_path):
    found = STUDY.examine(study_data(STUDY, tmp_path, SIMULATED))
    assert ["Table 1", "Section 5", "Section 4.2", "Section 5, work-groups", "Section 2.4"] == [
        one.source for one in found.claims
    ]
    assert {"", "errors", "weights", "strides"} == found.tables.keys()
    assert 8 == len(found.tables[""])
    assert {"tests"} == found.pictures.keys()


def test_table_1_has_the_geometric_means_that_the_paper_prints():
    errors = defaultdict(list)
    with (published.DATA / "table1.csv").open() as file:
        for row in csv.DictReader(file):
            measured, predicted = float(row["measured_ms"]), float(row["predicted_ms"])
            errors[row["device"], row["kernel"]].append(abs(predicted - measured) / measured)
    assert 64 == sum(map(len, errors.values()))
    for device, means in PRINTED.items():
        for kernel, printed in means.items():
            if not kernel or (device, kernel) == ("Nvidia Tesla K40c", "stencil"):
                continue  # the card's own mean; two of four times are printed alike
            found = math.exp(sum(map(math.log, errors[device, kernel])) / 4)
            # Times are printed with two digits, so the small ones leave the mean open by a few percent.
            assert printed == pytest.approx(found, abs=0.02), (device, kernel)


def test_the_page_shows_what_the_script_computes():
    table = published.table()
    assert table in (ROOT / "docs" / "lab" / "published-numbers.md").read_text()
    ratios = [float(line.split("|")[-2]) for line in table.splitlines()[2:]]
    assert 16 == len(ratios)
    assert all(0.95 < ratio < 1.05 for ratio in ratios)
