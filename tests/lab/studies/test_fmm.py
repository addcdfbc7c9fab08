"""The U-list of the fast multipole method: the paper's numbers, its search, counts by hand, and its claims."""

import shutil
from dataclasses import replace

import numpy as np
import pytest

from perfmodel.analyses.benefits import Benefits
from perfmodel.calibration.kernel_choice import TEST_KERNELS
from perfmodel.counts import count
from perfmodel.facts import published
from perfmodel.io import shipped
from perfmodel.kernels import discover
from perfmodel.quantities.case import Case
from perfmodel.quantities.traffic import global_bytes
from scripts.lab.experiments.fmm import STUDY
from scripts.lab.studies import StudyData, fmm
from scripts.lab.studies.claim import AGREES, DIFFERS, SLIP, UNSHOWN
from scripts.lab.studies.fmm_claims import fmm_claims
from tests.recorded import SIMULATED
from tests.standins import Row, Rows

(KERNEL,) = (one for one in discover(shipped(TEST_KERNELS) / "papers") if one.name == "fmm")
SIZES = {"boxes": 4, "q": 256}
INTERACTIONS = 4 * 256 * 27 * 256


def taken(*names):
    return frozenset(names)


def counted(*names):
    return count(KERNEL.build(**dict.fromkeys(names, True)), subgroup_size=32)


def benefits_of(seconds=10.0, **benefits):
    values = dict.fromkeys(("itilp_s", "memlp_s", "fp_s", "serial_s"), 0.0) | benefits
    return Benefits(seconds, 0.0, 0.0, 0.0, 0.0, **values)


def made(times, benefits=lambda names: benefits_of()):
    return {
        taken(*names): fmm.Combination(taken(*names), seconds, {"model": 2 * seconds}, benefits(names))
        for names, seconds in times.items()
    }


def test_words_and_operations_as_printed():
    assert 116 == fmm.words_moved()  # "Q(n; Z = 8q) = 116n words"
    assert 464 == fmm.WORD_BYTES * fmm.words_moved()  # "(464 bytes)"
    assert 422 == round(10 * 464 / 11)  # section 3.5, by the printed kappa q / 116
    assert pytest.approx(10, rel=1e-3) == fmm.intensity(422) / 27
    assert pytest.approx(10) == fmm.intensity(fmm.least_q(10))


def test_a_box_moves_and_computes_as_counted_by_hand():
    """27 boxes of q sources for each of q targets, 11 FLOPs each; the bytes are the counted arrays'."""
    counts = counted("shmem", "vecpack")
    decided = sum(counts.operations(dtype="float32", kind=kind)(**SIZES) for kind in ("compare", "select"))
    assert 2 * INTERACTIONS == decided  # a source at its target's own place adds nothing
    assert 11 * INTERACTIONS == counts.operations(dtype="float32")(**SIZES) - decided
    case = Case(counts, SIZES, published("tesla-c2050"), "gpuperf")
    # every particle and potential once, and the U-list: 4 * 256 * (16 + 4) + 4 * 27 * 4 bytes
    assert 4 * 256 * 20 + 4 * 27 * 4 == global_bytes(case)


@pytest.mark.parametrize(("names", "loads", "staged", "stride"), [
    ((), INTERACTIONS, 0, 4),  # every work-item loads every source
    (("vecpack",), INTERACTIONS, 0, 1),
    (("ujam",), INTERACTIONS // 4, 0, 4),
    (("tight",), INTERACTIONS, 0, 4),
    (("pref",), INTERACTIONS, 0, 4),
    (("shmem",), INTERACTIONS // 64, INTERACTIONS, 4),  # a group of 64 loads it once
    (("vecpack", "rsqrt", "shmem", "ujam", "pref"), INTERACTIONS // 256, INTERACTIONS // 4, 1),
])  # fmt: skip
def test_what_is_loaded_for_an_interaction(names, loads, staged, stride):
    counts = counted(*names)
    words, own = fmm.WORDS, 3 * 4 * 256  # a source, and the coordinates of all targets
    assert words * loads + own == counts.accesses("global", "load", "particle")(**SIZES)
    assert words * staged == counts.accesses("local", "load")(**SIZES)
    rows = [row for row in counts.access_table if row.array == "particle"]
    assert not any(row.indirect for row in rows)
    shared = {row.stride(**SIZES) for row in rows}
    assert ({stride} if "shmem" in names else {0, stride}) == shared
    special = {"rsqrt": 1} if "rsqrt" in names else {"sqrt": 1, "div": 1}
    for kind, amount in {"add": 6, "mul": 4 if "rsqrt" in names else 3, **special}.items():
        assert amount * INTERACTIONS == counts.operations(dtype="float32", kind=kind)(**SIZES)


def test_neighbours_are_those_of_a_torus():
    lists = KERNEL.contents["neighbour"](np.random.default_rng(1), (128, 27))  # 4 by 4 by 8 boxes
    assert (128, 27) == lists.shape
    assert [27] * 128 == [len(set(row)) for row in lists.tolist()]
    assert (np.bincount(lists.ravel()) == 27).all()
    assert all(box in lists[other] for box in range(128) for other in lists[box])
    place = np.array(np.unravel_index(np.arange(128), (4, 4, 8)))
    distance = np.abs(place[:, lists] - place[:, :, np.newaxis])
    sides = np.array([4, 4, 8])[:, np.newaxis, np.newaxis]
    assert (np.minimum(distance, sides - distance) <= 1).all()


def test_the_search_of_section_3_5_2_and_the_points_of_figure_4_3():
    """The paper's path: shmem first, then rsqrt, then vecpack, which gains nothing before."""
    gflops = {(): 75, ("shmem",): 190, ("rsqrt",): 75, ("vecpack",): 75, ("shmem", "rsqrt"): 260,
              ("shmem", "vecpack"): 185, ("shmem", "rsqrt", "vecpack"): 300, ("rsqrt", "vecpack"): 400}  # fmt: skip
    path = fmm.search({taken(*names): 1 / rate for names, rate in gflops.items()})
    assert ["baseline", "shmem", "rsqrt+shmem", "vecpack+rsqrt+shmem"] == [fmm.named(one) for one in path]
    one = Benefits(0.003, 0.002, 0.0015, 0.001, 0.0001, itilp_s=0, memlp_s=0, fp_s=0, serial_s=0)
    memory, computation = fmm.costs(one)
    assert ((2.0, 0.5, 0.1), (3.0, 3.0, 1.0)) == tuple(tuple(round(x, 9) for x in of) for of in (memory, computation))


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


@pytest.mark.nightly
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


@pytest.mark.nightly
def test_the_model_of_the_book_judges_whichever_family_is_right():
    found = made(STUDY_TIMES, by_benefit)
    both = {
        names: replace(one, predicted={"model": 1 / one.measured, "best": one.measured}) for names, one in found.items()
    }
    one = fmm_claims(both, ("model", "best"), 11.0, judge="model")[1]
    assert DIFFERS == one.verdict
    assert "`best`, 14 combinations: the fastest is vecpack+rsqrt+shmem" in one.found


@pytest.mark.nightly
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


@pytest.mark.nightly
def test_three_combinations_are_examined(folder):
    found = STUDY.examine(data(folder, [(), ("rsqrt",), ("shmem",)]))
    assert ["baseline", "rsqrt", "shmem"] == [row["combination"] for row in found.tables[""]]
    assert [1.0, 1.0, 2.0] == [row["speedup"] for row in found.tables[""]]
    assert 3 == found.tables["choices"][0]["variants"]
    assert {"fig4-2", "fig4-3", "fig4-4", "fig4-5"} == found.pictures.keys()
    assert all(one.found for one in found.claims)
