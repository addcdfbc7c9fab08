"""The matrix product: closed forms against Karsin's numbers, loops and counts, and claims where the answer is known."""

from dataclasses import replace
from functools import cache

import pytest

from perfmodel.counts import count
from scripts.lab.experiments.gemm import STUDY
from scripts.lab.studies.gemm import TILES, amounts, best_tile, matmul, multiplicity, shared_reads, spilled_matmul
from scripts.lab.studies.gemm_claims import gemm_claims
from scripts.lab.studies.gemm_operations import operation_claims
from scripts.lab.studies.gemm_points import gemm_points, library_point
from scripts.lab.studies.karsin import SPT, gpu
from tests.lab.studies.products import VARIANTS, counted, kernel, products


@pytest.mark.parametrize(("platform", "seconds"), [("ALGOPARC", 1.444), ("GIBSON", 1.542), ("UHHPC", 1.159)])
def test_matrix_product_of_section_5_3(platform, seconds):
    assert seconds == pytest.approx(sum(matmul(gpu(platform)).values()), abs=5e-4)


def test_matrix_product_grows_with_its_depth_and_has_a_best_tile():
    device = gpu("ALGOPARC")
    times = [sum(matmul(device, k=k).values()) for k in (1e4, 2e4, 4e4)]
    assert times[2] - times[1] == pytest.approx(2 * (times[1] - times[0]))
    by_tile = {tile: sum(matmul(device, tile=tile).values()) for tile in TILES}
    assert 128 == min(by_tile, key=by_tile.__getitem__) == best_tile(device)  # as printed in 5.3.2
    # Up to there registers are at their bandwidth, and what is left falls with 1/tile; then M_o is too small.
    global_memory = [matmul(device, tile=tile)["g"] for tile in (32, 64, 128)]
    assert [2, 2] == pytest.approx([global_memory[0] / global_memory[1], global_memory[1] / global_memory[2]], rel=0.01)
    assert matmul(device, tile=64)["r"] == matmul(device, tile=128)["r"] < matmul(device, tile=160)["r"]


def test_registers_beyond_255_spill_into_local_memory():
    device = gpu("ALGOPARC")
    assert matmul(device, tile=224) == spilled_matmul(device, 224)  # 224 registers
    held = (256**2 + 2 * 256 * 16) / 256
    expected = 1e12 / 1664 * (held - 255) / held / 0.233 / 780e6
    assert expected == pytest.approx(spilled_matmul(device, 256)["s"] - matmul(device, tile=256)["s"])


def test_amounts_are_those_of_loops():
    """Walk over the tiles of C and the batches of k; each staged element is taken out of shared memory once."""
    n, m, k, tile, depth = 8, 12, 6, 4, 2
    found = dict.fromkeys("gsry", 0)
    for _ in range(0, n, tile):
        for _ in range(0, m, tile):
            for _ in range(0, k, depth):
                staged = tile * depth + depth * tile
                found["g"] += staged
                found["s"] += staged + staged
                found["r"] += tile * tile * depth
                found["y"] += 2
            found["g"] += tile * tile
    assert found == amounts(1, n, m, k, tile, depth)
    assert found == pytest.approx({key: 7 * value for key, value in amounts(7, n, m, k, tile, depth).items()})


@pytest.mark.parametrize(("tile", "depth", "group"), [(48, 16, (16, 16)), (32, 8, (16, 16))])
def test_the_kernel_does_what_the_closed_forms_count(tile, depth, group):
    counts, sizes = counted(tile, depth, group), {"n": 192, "m": 384, "k": 96}
    rows, columns = tile // group[1], tile // group[0]
    closed = amounts(1, **sizes, tile=tile, depth=depth)
    assert closed["g"] == counts.accesses("global")(**sizes)
    assert closed["r"] == counts.operations(dtype="float32", kind="add")(**sizes)
    assert closed["y"] * group[0] * group[1] == counts.barriers("local")(**sizes)
    assert closed["s"] / 2 == counts.accesses("local", direction="store")(**sizes)
    assert shared_reads(**sizes, rows=rows, columns=columns) == counts.accesses("local", direction="load")(**sizes)
    assert 8 * tile * depth == counts.launch.local_bytes


def test_multiplicity_is_that_of_registers_times_what_a_thread_moves():
    device = gpu("GIBSON")
    held = (96 * 96 + 96 * 16 + 16 * 96) / 256
    threads = 512 * 1024 / held / 1536
    moved = 2 * 96 * 16 / 256
    expected = {"g": threads * moved, "s": threads * moved, "r": threads, "y": threads}
    assert expected == pytest.approx(multiplicity(device))


def test_a_warp_that_is_grouped_anew_reads_half_as_many_lines():
    """Two rows of 16 lanes are two lines of 128 bytes, one row of 32 is one; the tile of a has rows of lambda = 16."""
    sizes = {"n": 192, "m": 192, "k": 64}
    as_computed, anew = (count(kernel().build(96, 16, (16, 16), wide), subgroup_size=32) for wide in (0, 32))
    lines = [[one.lines(array, 128, per="instance")(**sizes) for array in "ab"] for one in (as_computed, anew)]
    loads = 192 * 192 * 64 // 96
    assert [[loads // 8, loads // 16], [loads // 8, loads // 32]] == lines
    assert [loads, loads] == [one.accesses("global", "load", "b")(**sizes) for one in (as_computed, anew)]


@cache
def base():
    return gemm_points(products(lambda *_: 1.0))


def exactly(one):
    return one.seconds(SPT)


def verdicts(seconds, more=lambda points: (), kind="cpu"):
    """Return the claims by the paper's words, of points with times ``seconds(point)``."""
    points = [replace(one, measured=seconds(one)) for one in base()]
    made = gemm_claims((*points, *more(points)), [SPT], kind == "cpu")
    return {one.paper: one for one in made}


def agrees(claims, words):
    (found,) = [one for paper, one in claims.items() if words in paper]
    return found.agrees


@pytest.fixture(scope="module")
def exact():
    return verdicts(exactly)


@pytest.mark.nightly
def test_times_that_the_model_predicts(exact):
    assert agrees(exact, "the estimate errs by")
    assert agrees(exact, "determines the parameters")
    assert agrees(exact, "significantly underestimates") is agrees(exact, "255 registers") is None  # of a CPU
    assert agrees(verdicts(exactly, kind="gpu"), "significantly underestimates") is False


@pytest.mark.nightly
def test_the_closed_forms_decide_on_the_papers_platforms(exact):
    assert agrees(exact, "N_TB = 96 is not the best")
    (found,) = [one.found for paper, one in exact.items() if "N_TB = 96 is not the best" in paper]
    assert "128 (ALGOPARC), 80 (GIBSON), 80 (UHHPC)" in found
    assert "1.277 s there and 1.444 s at N_TB = 96" in found


@pytest.mark.nightly
def test_findings_of_three_variants():
    found = STUDY.examine(products(lambda tile, depth, group, k: k * 1e-6, VARIANTS[:3]))
    assert 3 * 3 == len(found.tables[""])
    assert {"k", "tile", "shares"} == found.pictures.keys()
    assert all(one.found and "nan" not in one.found for one in found.claims)
    recommended = [one for one in found.tables["choices"] if one["recommended"]]
    assert [3] == [one["variants"] for one in recommended]


@cache
def claims(variant):
    one = library_point(gemm_points(products(lambda *_: 1.0, (variant,))))
    return operation_claims(one)


@pytest.mark.nightly
@pytest.mark.parametrize("variant", VARIANTS[2:])
def test_all_but_shared_memory_are_counted_as_printed(variant):
    counted, shared, conflicts, bandwidth, _ = claims(variant)
    assert counted.agrees
    assert shared.agrees is False
    assert (variant[2] == (16, 16)) == conflicts.agrees  # two rows of 8 in a sub-group of 16 share banks
    assert ("a_tile 1.00, b_tile 1.00" in conflicts.found) == conflicts.agrees
    assert bandwidth.agrees


@pytest.mark.nightly
def test_shared_accesses_in_words():
    """N_TB = 48 and 16 x 16 work-items: 3 x 3 elements, 2/3 reads a product; A_s has 4/48."""
    found = claims((48, 16, (16, 16)))[1].found
    work = 384 * 384 * 256
    written, read = 2 * work / 48, 2 * work / 3
    assert f"3 x 3 elements, and reads a number of a for 3 products and one of b for 3: {read:.4g}" in found
    assert f"{written + read:.4g} accesses for {2 * written:.4g}, {0.5 + 8:.1f} times" in found
