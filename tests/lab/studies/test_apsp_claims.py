"""What is found of the paper's claims, on the paper's own device with times that are made up."""

from __future__ import annotations

import shutil
from dataclasses import replace
from functools import cache

import pytest

from perfmodel.counts import count
from perfmodel.facts import Fact, published
from scripts.lab.experiments.apsp import STUDY
from scripts.lab.studies import StudyData
from scripts.lab.studies.apsp_formula_claims import formula_claims
from tests.lab.studies.test_apsp import KERNEL
from tests.recorded import SIMULATED
from tests.standins import Row, Rows

pytestmark = pytest.mark.nightly  # research code, and long

N = 8192
#: T = B_a T_r / 32 by hand, by sub-block, work-items and further local memory: B_a is 8 with sub-blocks of 16, with 32
#: four groups of 12 KiB fit into 48 KiB, two of 24, one of 48, and with 64 one.
THREADS = {
    (16, 16, 0): 4, (16, 32, 0): 8, (16, 64, 0): 16, (16, 128, 0): 32, (32, 16, 0): 2, (32, 32, 0): 4, (32, 64, 0): 8,
    (32, 128, 0): 16, (64, 32, 0): 1, (64, 64, 0): 2, (64, 128, 0): 4, (64, 256, 0): 8, (32, 32, 12288): 2,
    (32, 32, 36864): 1, (32, 128, 36864): 4
}  # fmt: skip


def ratio(variant):
    return N / variant[0] / THREADS[variant]


def of_the_paper(variant):
    """Eq. 15 with the printed numbers, and the level where S_D T reaches 512."""
    return 0.957 * max(ratio(variant), 16) + 53.9


@cache
def counted(variant):
    size, items, extra = variant
    return count(KERNEL.build(size, items, extra), subgroup_size=32)


def data(times, folder, recommended="threaded_manycore"):
    """Measurements of variants, each with its time [s], and a folder with weights of one family."""
    names = {variant: str(place) for place, variant in enumerate(times)}
    rows = tuple(
        Row("apsp", {"n": N}, seconds, names[size, items, extra], {"sub_block": size, "items": items,
            **({"extra_local": extra} if extra else {})}, "paths")
        for (size, items, extra), seconds in times.items()
    )  # fmt: skip
    measured = Rows(rows, {name: counted(variant) for variant, name in names.items()})
    return StudyData(published("gtx-480"), measured, (), folder, recommended)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    found = tmp_path_factory.mktemp("device")
    shutil.copy(SIMULATED / "threaded_manycore.json", found)
    return found


@pytest.fixture(scope="module")
def found(folder):
    return STUDY.examine(data({variant: of_the_paper(variant) for variant in THREADS}, folder))


def by_source(found):
    return {one.source: one for one in found.claims}


def test_times_by_the_papers_line_agree_with_its_claims(found):
    claims = by_source(found)
    for source in ("Fig. 1, Eq. 3", "Fig. 2, Eq. 15", "Figs. 2 and 3", "Fig. 3", "Fig. 4"):
        assert claims[source].agrees is True, claims[source]
    assert "over 12 configurations of n=8192, T from 1 to 32" in claims["Fig. 2, Eq. 15"].found
    assert "with a level below a bend it is 1.0000" in claims["Fig. 2, Eq. 15"].found
    # By the formula times at half the T of the bend are within a quarter of the level: 84.5 s for 69.2 s.
    assert "16: from T = 16" in claims["Fig. 3"].found
    assert "32: from T = 8" in claims["Fig. 3"].found
    assert "64: from T = 4" in claims["Fig. 3"].found


def test_the_table_has_the_papers_quantities(found):
    rows = {(row["sub_block"], row["items"], row["extra_local"]): row for row in found.tables[""]}
    assert {variant: float(threads) for variant, threads in THREADS.items()} == {
        variant: row["threads"] for variant, row in rows.items()
    }
    for variant, row in rows.items():
        assert pytest.approx(ratio(variant)) == row["ratio"]
        assert pytest.approx(of_the_paper(variant), rel=1e-9) == row["bent_line_s"]
    assert ["threaded_manycore"] == [one["family"] for one in found.tables["choices"] if one["recommended"]]
    assert {"fig1", "fig2", "fig3", "fig4", "fig5"} == set(found.pictures)


def test_the_papers_anomaly_is_found(folder):
    odd = {(32, 32, 0): 404.0, (32, 32, 36864): 108.0, (32, 32, 12288): 200.0}
    claim = by_source(STUDY.examine(data(odd, folder)))["Fig. 5"]
    assert claim.agrees is True
    assert f"404 s to 108 s, a factor of {404 / 108:.2f}" in claim.found
    assert "48 KiB for 12 KiB; B_a 4 to 1" in claim.found


def test_on_a_cpu_work_items_hide_nothing(folder):
    on_gpu = data(dict.fromkeys(THREADS, 1.0), folder)
    on_cpu = replace(on_gpu, facts=on_gpu.facts.updated({"device_type": Fact("cpu", "", "made up")}))
    found = STUDY.examine(on_cpu).claims
    assert {None} == {one.agrees for one in found if one.measured}
    assert all(("mean nothing here" in one.found) == one.measured for one in found)
    assert [one for one in found if not one.measured] == list(formula_claims())
    assert any(one.agrees is False for one in STUDY.examine(on_gpu).claims)


def test_the_papers_model_judges_whichever_family_is_recommended(folder, tmp_path):
    for name in ("threaded_manycore", "stevens_kloeckner_2016"):
        shutil.copy(SIMULATED / f"{name}.json", tmp_path)
    claim = by_source(STUDY.examine(data({(16, 16, 0): 1.0}, tmp_path, "stevens_kloeckner_2016")))["Section V"]
    assert claim.found.startswith("threaded_manycore mispredicts 1 of 1 cases")
