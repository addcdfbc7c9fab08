"""The paper's fit to nine classes: against weights that were planted, and the page's numbers."""

from __future__ import annotations

import csv
import re
from statistics import fmean

import numpy as np
import pytest

from perfmodel.features import evaluate
from perfmodel.fitting.device_folder import recorded_folder
from perfmodel.models import find_family
from perfmodel.quantities.case import Case
from perfmodel.store.measurement import Visit
from scripts.lab.studies import nine_classes
from scripts.lab.studies.nine_classes import PRINTED, errors_of, errors_row, fitted, kept, local_strides
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
