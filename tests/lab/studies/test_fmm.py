"""The U-list of the fast multipole method: the paper's numbers, its search, and counts by hand."""

from __future__ import annotations

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
from scripts.lab.studies import fmm

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


@pytest.mark.parametrize(
    ("names", "loads", "staged", "stride"),
    [
        ((), INTERACTIONS, 0, 4),  # every work-item loads every source
        (("vecpack",), INTERACTIONS, 0, 1),
        (("ujam",), INTERACTIONS // 4, 0, 4),
        (("tight",), INTERACTIONS, 0, 4),
        (("pref",), INTERACTIONS, 0, 4),
        (("shmem",), INTERACTIONS // 64, INTERACTIONS, 4),  # a group of 64 loads it once
        (("vecpack", "rsqrt", "shmem", "ujam", "pref"), INTERACTIONS // 256, INTERACTIONS // 4, 1),
    ],
)
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


def test_the_search_of_section_3_5_2():
    """The paper's path: shmem first, then rsqrt, then vecpack, which gains nothing before."""
    gflops = {(): 75, ("shmem",): 190, ("rsqrt",): 75, ("vecpack",): 75, ("shmem", "rsqrt"): 260,
              ("shmem", "vecpack"): 185, ("shmem", "rsqrt", "vecpack"): 300, ("rsqrt", "vecpack"): 400}  # fmt: skip
    path = fmm.search({taken(*names): 1 / rate for names, rate in gflops.items()})
    assert ["baseline", "shmem", "rsqrt+shmem", "vecpack+rsqrt+shmem"] == [fmm.named(one) for one in path]


def test_the_points_of_figure_4_3():
    one = Benefits(0.003, 0.002, 0.0015, 0.001, 0.0001, itilp_s=0, memlp_s=0, fp_s=0, serial_s=0)
    memory, computation = fmm.costs(one)
    assert ((2.0, 0.5, 0.1), (3.0, 3.0, 1.0)) == tuple(tuple(round(x, 9) for x in of) for of in (memory, computation))
