"""The APSP study against the paper's printed numbers, its formulas by hand, squarings, and claims on made-up times."""

import math
import shutil
from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np
import pytest

from perfmodel.counts import count
from perfmodel.facts import Fact, published
from perfmodel.kernels import discover
from perfmodel.quantities.case import Case
from scripts.lab.experiments import apsp as study
from scripts.lab.experiments.squaring import STUDY
from scripts.lab.studies import StudyData, apsp_formulas as formulas
from scripts.lab.studies.apsp import Bend, Configuration, bent_line, configuration, flat_from, minima, zigzag
from scripts.lab.studies.apsp_formula_claims import formula_claims
from scripts.lab.studies.claim import AGREES, SLIP, UNSHOWN
from scripts.lab.studies.squaring import predicted
from scripts.lab.study_runs import study_data
from tests.machine import ROOT
from tests.recorded import SIMULATED
from tests.standins import Row, Rows

GTX480 = published("gtx-480")
(KERNEL,) = (kernel for kernel in discover(ROOT / "test_kernels" / "papers") if kernel.name == "apsp")


def on_the_gtx_480(n=8192, seconds=1.0, **variant):
    counts = count(KERNEL.build(**variant), subgroup_size=32)
    return configuration(Case(counts, {"n": n}, GTX480, ""), variant, seconds, {"toy": 2.0, "other": None})


def test_the_run_of_section_v():
    """Its printed numbers are n = 8192, S_D = 32, B_r = 65,536, T = 4 and B_a = 4: groups of one warp."""
    found = on_the_gtx_480(sub_block=32, items=32)
    assert (65536, 4, 4.0) == (found.requested, found.active, found.threads)
    assert 64 == found.ratio
    # Eq. 15 with the printed numbers; the paper's text has 105 s there.
    assert pytest.approx(115.15, abs=0.01) == Bend(53.9, 0.957, 0.0, math.nan).at(found.ratio)
    assert {"toy": 2.0} == found.predicted


@pytest.mark.parametrize(("extra", "active"), [(12 * 1024, 2), (36 * 1024, 1)])
def test_more_local_memory_leaves_two_groups_and_one(extra, active):
    found = on_the_gtx_480(sub_block=32, items=128, extra_local=extra)
    assert (12 * 1024 + extra, active) == (found.local_bytes, found.active)
    assert active * 128 / 32 == found.threads


def test_figure_1():
    requested, factors = zigzag(15, 150)
    assert [math.ceil(b / 15) * 15 / b for b in requested] == pytest.approx(factors)
    assert tuple(range(15, 150, 15)) == minima(factors)


@pytest.mark.parametrize("variant", KERNEL.variants[::6], ids=str)
def test_a_squaring_adds_and_compares_once_for_each_triple(variant):
    counts, size = count(KERNEL.build(**variant), subgroup_size=32), variant["sub_block"]
    n = 2 * size
    assert n**3 == counts.operations(kind="add")(n=n) == counts.operations(kind="minmax")(n=n)
    # Two sub-blocks for each step of k, and the first one of c; all local memory is allocated.
    assert 2 * n**3 // size + n**2 == counts.accesses(space="global", direction="load")(n=n)
    assert 3 * 4 * size**2 + variant.get("extra_local", 0) == counts.launch.local_bytes
    assert variant["items"] == math.prod(counts.launch.group_shape)


def test_the_reference_is_the_definition():
    a = np.random.default_rng(3).uniform(0.5, 2, (7, 7)).astype(np.float32)
    expected = [[min(a[i, j], min(a[i, k] + a[k, j] for k in range(7))) for j in range(7)] for i in range(7)]
    np.testing.assert_array_equal(expected, KERNEL.reference({"a": a})["c"])


def test_a_level_and_a_line_and_where_a_curve_is_flat():
    x = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0]
    found = bent_line(x, [50 + 3 * max(one - 4, 0) for one in x])
    assert (50.0, 3.0, 4.0, 1.0) == pytest.approx((found.level, found.slope, found.bend, found.r_squared))
    assert (50.0, 62.0) == pytest.approx((found.at(0.5), found.at(8.0)))
    *curve, last = (
        Configuration(64, 8, 32, 0, 0, 16.0, 1.0, threads, 1.0, seconds, {})
        for threads, seconds in ((1, 40), (2, 20), (4, 12), (8, 10), (16, 11), (32, 15))
    )
    assert 4 == flat_from(curve)
    assert flat_from([*curve, last]) is None
    assert 1 == flat_from(curve[:1])


POINTS = [*product((256, 8192), (16, 32, 64), (1.0, 4.0, 16.0, 64.0))]
CHUNK, LATENCY, SCHEDULE = 32, 16384.0, 1.25


def chunks_read(n, size, chunk):
    """Chunks of the left factor that formulas.work-groups read in one squaring, each group by itself."""
    found = 0
    for row, _, step in product(range(n // size), repeat=3):
        cells = {(size * row + i) * n + size * step + k for i in range(size) for k in range(size)}
        found += len({cell // chunk for cell in cells})
    return found


@pytest.mark.parametrize(("n", "size", "chunk"), [(16, 4, 4), (16, 8, 4), (32, 8, 8), (32, 16, 8)])
def test_equation_10_counts_the_chunks_of_one_factor(n, size, chunk):
    assert chunks_read(n, size, chunk) * math.log2(n) == formulas.transactions(n, size, chunk)


@pytest.mark.parametrize(("n", "size", "threads"), POINTS)
def test_equations_11_to_14_are_equation_8(n, size, threads):
    of_8 = formulas.extended(n**3 * math.log2(n), formulas.transactions(n, size, CHUNK), LATENCY, threads, SCHEDULE)
    requested = (n / size) ** 2
    assert of_8 == pytest.approx(formulas.in_sub_blocks(n, size, CHUNK, LATENCY, threads, SCHEDULE))
    assert of_8 == pytest.approx(formulas.in_groups(n, requested, CHUNK, LATENCY, threads, SCHEDULE))
    hidden = formulas.hides_latency(formulas.work(n), formulas.transactions(n, size, CHUNK), LATENCY, threads)
    assert hidden == (threads >= formulas.threads_needed(size, CHUNK, LATENCY))
    waiting = formulas.memory_bound(n, requested, CHUNK, LATENCY, threads, SCHEDULE)
    assert of_8 == pytest.approx(formulas.compute_bound(n, SCHEDULE) if hidden else waiting)
    # Eq. 5 says the same where it says anything.
    assert (pytest.approx(of_8) == formulas.calibrated(formulas.work(n), 1.0, SCHEDULE, hidden)) == hidden


def test_the_printed_exponent_of_equation_12_is_n_times_too_much():
    asked = 8192, 65536, CHUNK, LATENCY, 4.0, 1.0
    assert 8192 == pytest.approx(formulas.in_groups(*asked, exponent=3) / formulas.memory_bound(*asked))


def test_latency_is_hidden_where_figure_3_gets_flat():
    assert (8, 16, 32) == tuple(formulas.threads_needed(size, CHUNK, LATENCY) for size in (64, 32, 16))


def test_the_cache_factor_lies_between_hits_and_misses():
    assert (1.0, 5.0, 9.0) == tuple(formulas.cache_factor(rate, 9.0) for rate in (1.0, 0.5, 0.0))
    assert 1.0 == formulas.cache_factor(0.0, 9.0, fits=True)
    assert math.isnan(formulas.calibrated(1.0, 1.0, 1.0, hidden=False))


CLAIMS = {one.source: one for one in formula_claims()}


@pytest.mark.parametrize(("source", "verdict", "said"), [
    ("Fig. 1, Eq. 3", AGREES, "9 minima below 150 groups at 15, 30, 45, 60, 75, 90, 105, 120, 135 "),
    ("Eq. 10", SLIP, "2 times as many"),
    ("Eq. 12", SLIP, "8192 times that of Eq. 14"),
    # above 512/S_D are 3, 2, 1 and 0 of the seven T for sub-blocks of 64, 32, 16 and 8, for each of four n
    ("Sections III.1 and III.2", AGREES, "Eq. 13 in 24 cases above, and Eq. 14 in 88 others, of 112"),
    ("Eq. 14, section IV.A", AGREES, "a factor of 1.0000 over 28 cases"),
    ("Fig. 3, section IV.B", AGREES, "is 8, 16, 32 "),
    ("Section V, Eq. 4", AGREES, "in it 4 groups fit, with the factors alone 6 "),
    ("Section V, Eq. 15", SLIP, "gives 115 s"),  # 0.957 256/4 + 53.9
    ("Section V, B_a = 1", UNSHOWN, "gives 299 s"),  # 0.957 256 + 53.9
])  # fmt: skip
def test_a_claim(source, verdict, said):
    assert (verdict, False) == (CLAIMS[source].verdict, CLAIMS[source].measured)
    assert said in CLAIMS[source].found


def test_a_squaring_reads_both_factors():
    """Sub-block by sub-block, as a program that fetches them would count its reads."""
    n, size, reads = 16, 4, 0
    for row in range(0, n, size):
        for column in range(0, n, size):
            for k in range(0, n, size):
                left = {(i, j) for i in range(row, row + size) for j in range(k, k + size)}
                right = {(i, j) for i in range(k, k + size) for j in range(column, column + size)}
                reads += len(left) + len(right)
    assert 2 * formulas.transactions(n, size, 1) / 4 == reads  # lg 16 squarings


@pytest.fixture(scope="module")
def whole():
    return KERNEL.build(16, 32, whole=True)


def test_its_work_is_that_of_section_3(whole):
    counts, n = count(whole, subgroup_size=32), 256
    steps = int(math.log2(n))
    for kind in ("add", "minmax"):
        assert formulas.work(n) == counts.operations(kind=kind)(n=n, steps=steps)
    assert steps == counts.launches()(n=n, steps=steps)
    assert steps * (n // 16) ** 2 == counts.work_groups()(n=n, steps=steps)
    # Both factors are read, and the sub-block itself; Eq. 10 counts one factor, in chunks of C = 1 here.
    loads = counts.accesses(space="global", direction="load")(n=n, steps=steps)
    assert 2 * formulas.transactions(n, 16, 1) + steps * n**2 == loads


def shortest(a):
    """Floyd and Warshall: by vertices that a path may pass, not by numbers of edges."""
    found = a.copy()
    for k in range(len(a)):
        found = np.minimum(found, found[:, k, None] + found[None, k, :])
    return found


def test_repeated_squaring_finds_all_paths():
    """As the generated code does: d[s + 1] from d[s], lg n times."""
    n, rng = 32, np.random.default_rng(5)
    a = np.where(rng.random((n, n)) < 0.1, rng.uniform(0.5, 2, (n, n)), np.inf)
    np.fill_diagonal(a, 0)
    d = a
    for _ in range(int(math.log2(n))):
        d = KERNEL.reference({"a": d})["c"]
    np.testing.assert_allclose(shortest(a), d)


def test_the_papers_card_by_its_simulation(tmp_path):
    data = study_data(STUDY, tmp_path, SIMULATED)
    variant = {"sub_block": 32, "items": 32}
    four, one = predicted(data, variants=(variant, {**variant, "extra_local": 36864}))
    assert (8192, 65536, 4, 4.0) == (four.n, four.requested, four.active, four.threads)  # the run of section V
    assert (1, 1.0) == (one.active, one.threads)
    weights = data.model("threaded_manycore").weights
    work_s = weights["w_operation"] * 4 * formulas.work(8192) / 480  # a sum, a minimum and two local loads
    assert four.seconds == pytest.approx(work_s, rel=0.05)  # filling the tiles comes on top
    assert four.seconds > work_s


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
    return study.STUDY.examine(data({variant: of_the_paper(variant) for variant in THREADS}, folder))


def by_source(found):
    return {one.source: one for one in found.claims}


@pytest.mark.nightly
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


@pytest.mark.nightly
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


@pytest.mark.nightly
def test_the_papers_anomaly_is_found(folder):
    odd = {(32, 32, 0): 404.0, (32, 32, 36864): 108.0, (32, 32, 12288): 200.0}
    claim = by_source(study.STUDY.examine(data(odd, folder)))["Fig. 5"]
    assert claim.agrees is True
    assert f"404 s to 108 s, a factor of {404 / 108:.2f}" in claim.found
    assert "48 KiB for 12 KiB; B_a 4 to 1" in claim.found


@pytest.mark.nightly
def test_on_a_cpu_work_items_hide_nothing(folder):
    on_gpu = data(dict.fromkeys(THREADS, 1.0), folder)
    on_cpu = replace(on_gpu, facts=on_gpu.facts.updated({"device_type": Fact("cpu", "", "made up")}))
    found = study.STUDY.examine(on_cpu).claims
    assert {None} == {one.agrees for one in found if one.measured}
    assert all(("mean nothing here" in one.found) == one.measured for one in found)
    assert [one for one in found if not one.measured] == list(formula_claims())
    assert any(one.agrees is False for one in study.STUDY.examine(on_gpu).claims)


@pytest.mark.nightly
def test_the_papers_model_judges_whichever_family_is_recommended(folder, tmp_path):
    for name in ("threaded_manycore", "stevens_kloeckner_2016"):
        shutil.copy(SIMULATED / f"{name}.json", tmp_path)
    claim = by_source(study.STUDY.examine(data({(16, 16, 0): 1.0}, tmp_path, "stevens_kloeckner_2016")))["Section V"]
    assert claim.found.startswith("threaded_manycore mispredicts 1 of 1 cases")
