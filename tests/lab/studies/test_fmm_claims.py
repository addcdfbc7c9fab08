"""What is found of the claims of Kim et al., with times and benefits that are made up."""

from __future__ import annotations

import shutil
from dataclasses import replace

import pytest

from perfmodel.facts import published
from scripts.lab.experiments.fmm import STUDY
from scripts.lab.studies import StudyData
from scripts.lab.studies.claim import AGREES, DIFFERS, SLIP, UNSHOWN
from scripts.lab.studies.fmm_claims import fmm_claims
from tests.lab.studies.test_fmm import SIZES, benefits_of, counted, made
from tests.recorded import SIMULATED
from tests.standins import Row, Rows

pytestmark = pytest.mark.nightly  # research code, and long

#: Times [s] by which all of the study's claims hold: shmem first, pref gains nothing.
STUDY_TIMES = {
    (): 8.0, ("shmem",): 4.0, ("rsqrt",): 8.0, ("vecpack",): 7.9, ("ujam",): 6.0, ("pref",): 7.0, ("tight",): 8.1,
    ("rsqrt", "shmem"): 3.0, ("shmem", "vecpack"): 4.1, ("vecpack", "rsqrt"): 7.9, ("tight", "shmem"): 7.9,
    ("vecpack", "rsqrt", "shmem"): 2.0, ("vecpack", "rsqrt", "shmem", "ujam"): 2.05,
    ("vecpack", "rsqrt", "shmem", "ujam", "pref"): 2.1,
}  # fmt: skip


def by_benefit(names):
    """B_itilp is what shmem gains in the times above, and B_fp falls along the path of figure 4.5 up to pref."""
    fp = 7.0 - len(names) + ("pref" in names) * 1.1
    return benefits_of(10.0, itilp_s=0.0 if "shmem" in names else 4.8, fp_s=fp)


def claims(times=STUDY_TIMES, benefits=by_benefit, operations=11.0, families=("model",), is_cpu=False):
    found = fmm_claims(made(times, benefits), families, operations, judge="model", is_cpu=is_cpu)
    return {one.source: one for one in found}


def test_times_and_benefits_as_in_the_study_agree_with_its_claims():
    found = fmm_claims(made(STUDY_TIMES, by_benefit), ("model",), 11.0, judge="model")
    assert [SLIP, *[AGREES] * 7] == [one.verdict for one in found]
    found_of = claims()
    assert "27 times as high" in found_of["Sections 3.3 and 3.5"].found
    assert "q >= 16" in found_of["Sections 3.3 and 3.5"].found
    assert (
        "the fastest is vecpack+rsqrt+shmem (speedup 4.00, predicted 4.00), at place 1" in found_of["Figure 4.2"].found
    )
    assert "shmem 2.00, ujam 1.33" in found_of["Figure 3.5(a)"].found
    searched = found_of["Section 3.5.2, figure 3.5"].found
    assert "It goes baseline -> shmem -> rsqrt+shmem -> vecpack+rsqrt+shmem -> " in searched
    assert "The best on its way is vecpack+rsqrt+shmem, 4.00 times as fast as the baseline" in searched
    assert "B_itilp 48.0 %, B_memlp 0.0 %, B_fp 70.0 %" in found_of["Section 4.1.3"].found
    # gains: 1/2 on the baseline, 5/8 on rsqrt, 1 - 4.1/7.9 on vecpack, 1 - 2/7.9 on both; on tight 1 - 7.9/8.1
    gains = [0.5, 5 / 8, 1 - 4.1 / 7.9, 1 - 2 / 7.9]
    errors = sorted(abs(one - 0.48) for one in gains)
    assert f"by {(errors[1] + errors[2]) / 2:.2f} without tight and 0.46 with tight" in found_of["Figure 4.4"].found


def test_the_model_of_the_book_judges_whichever_family_is_right():
    found = made(STUDY_TIMES, by_benefit)
    both = {
        names: replace(one, predicted={"model": 1 / one.measured, "best": one.measured}) for names, one in found.items()
    }
    one = fmm_claims(both, ("model", "best"), 11.0, judge="model")[1]
    assert DIFFERS == one.verdict
    assert "`best`, 14 combinations: the fastest is vecpack+rsqrt+shmem" in one.found


def test_the_baseline_s_benefits_are_compared_with_the_printed_share():
    """6068 of 6068 + 9691 are 39 %. Without B_itilp the claim does not hold; up to ITILP_max = 1 it says nothing."""
    none = claims(benefits=lambda names: benefits_of(10.0, fp_s=5.0))["Section 4.1.3"]
    assert DIFFERS == none.verdict
    assert "38.5 %" in none.paper
    assert "B_itilp is 0.0 % of the benefits" in none.found
    hidden = claims(benefits=lambda names: benefits_of(10.0, fp_s=5.0, most_itilp=0.5))["Section 4.1.3"]
    assert UNSHOWN == hidden.verdict
    near = claims(benefits=lambda names: benefits_of(10.0, fp_s=5.0, itilp_s=3.0))["Section 4.1.3"]
    assert AGREES == near.verdict


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    found = tmp_path_factory.mktemp("devices") / "own"
    found.mkdir()
    shutil.copy(SIMULATED / "gpuperf.json", found)
    return found


def data(folder, variants):
    rows = tuple(
        Row("fmm", SIZES, STUDY_TIMES[names], str(place), dict.fromkeys(names, True), "boxes")
        for place, names in enumerate(variants)
    )
    measured = Rows(rows, {str(place): counted(*names) for place, names in enumerate(variants)})
    return StudyData(published("gtx-480"), measured, (), folder, "gpuperf")


def test_three_combinations_are_examined(folder):
    found = STUDY.examine(data(folder, [(), ("rsqrt",), ("shmem",)]))
    assert ["baseline", "rsqrt", "shmem"] == [row["combination"] for row in found.tables[""]]
    assert [1.0, 1.0, 2.0] == [row["speedup"] for row in found.tables[""]]
    assert 3 == found.tables["choices"][0]["variants"]
    assert {"fig4-2", "fig4-3", "fig4-4", "fig4-5"} == found.pictures.keys()
    assert all(one.found for one in found.claims)
