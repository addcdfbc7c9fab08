"""GPU-MMS and the pairwise mergesort carried out: they sort, and do what chapter 7 counts."""

from math import ceil, log2

import numpy as np
import pytest

from perfmodel.counts import count
from scripts.lab.studies.multiway import Moved, merged_runs, sheared, sorted_by_heaps
from scripts.lab.studies.pairwise_sort import Work, sorted_pairwise, steps_of_rounds
from scripts.lab.studies.sorting import pairwise
from test_kernels.papers import block_sort, multiway_merge, shear_sort
from tests.lab.studies.test_sorting import ALGOPARC

WARP = 32


def shuffled(n, seed=1):
    return np.random.default_rng(seed).permutation(n).astype(np.float64)


@pytest.mark.parametrize("ways", [2, 3, 4, 8])
@pytest.mark.parametrize("n", [1, 63, 64, 1000, 4096])
def test_any_keys_are_sorted(n, ways):
    assert np.array_equal(np.arange(n), sorted_by_heaps(shuffled(n), ways, 8, Moved()))
    equal = shuffled(n) // 50
    assert np.array_equal(np.sort(equal), sorted_by_heaps(equal, ways, 8, Moved()))


def test_a_worst_case_moves_as_much_as_any():
    """Free of conflicts and of data: what is moved and compared is the same for every input."""
    found = []
    for keys in (shuffled(2**14), np.arange(2.0**14), -np.arange(2.0**14), shuffled(2**14) % 7):
        moved = Moved()
        sorted_by_heaps(keys, 4, WARP, moved)
        found.append(moved)
    assert [found[0]] * 4 == found


def test_a_base_case_moves_what_section_7_3_1_counts():
    """4 w log w accesses for w elements, and 2 more for the rows once more; each element is loaded and stored once."""
    moved = Moved()
    assert np.array_equal(np.arange(1024), sheared(shuffled(1024).reshape(32, 32), 32, moved))
    assert (1024, 1024, 32 * (4 * 32 * 5 + 2 * 32)) == (moved.loaded, moved.stored, moved.shared)
    # A bitonic network of 32 elements has 15 steps of 16 pairs; each of 32 lanes sorts 11 times. The text has
    # 2 w log^3 w = 8000 operations for w elements, 3 operations a pair would be 7920: 11 phases of 240 pairs.
    assert 32 * 11 * 240 == moved.compared
    assert 2 * 5**3 * 1024 == pytest.approx(3 * moved.compared, rel=0.02)


@pytest.mark.parametrize("ways", [2, 4, 8])
def test_a_round_moves_what_section_7_3_2_counts(ways):
    """4 w log K accesses to shared memory for w elements, of full runs; filling the heap first adds K - 1 merges."""
    n = 1024 * ways
    runs, moved = list(np.sort(shuffled(n).reshape(ways, -1), axis=1)), Moved()
    assert np.array_equal(np.arange(n), merged_runs(runs, WARP, moved))
    levels = int(log2(ways))
    filling = sum(2**level * (levels - level) for level in range(levels))
    assert (n, n) == (moved.loaded, moved.stored)
    assert 4 * WARP * (levels * (n // WARP) + filling) == moved.shared
    # w pairs in each of log 2w steps of a bitonic merge: 3 w (log w + 1) operations, where the text has 6 w log w.
    assert 3 * WARP * 6 * moved.shared / (4 * WARP) == 3 * moved.compared


@pytest.mark.parametrize("ways", [2, 8])
def test_the_device_kernel_merges_as_much(ways):
    """A merge is the study's; the heap is filled by K - 1 blocks that come out first, log K merges each."""
    merges, run = 3, 16
    counts, at = count(multiway_merge.build(ways), subgroup_size=WARP), {"merges": merges, "run": run}
    runs, moved = list(np.sort(shuffled(ways * run * WARP).reshape(ways, -1), axis=1)), Moved()
    merged_runs(runs, WARP, moved)
    levels = int(log2(ways))
    filling = sum(2**level * (levels - level) for level in range(levels))
    more = levels * (ways - 1) - filling  # merges for the same blocks
    of_one = WARP * WARP.bit_length()  # pairs
    assert merges * 2 * (moved.compared + more * of_one) == counts.operations(kind="minmax")(**at)
    assert merges * moved.stored == counts.accesses("global", direction="store")(**at)


def test_the_device_kernel_of_the_base_case_does_as_much():
    """A comparator is a minimum and a maximum; in addition the square is stored to local memory and loaded again."""
    moved = Moved()
    sheared(shuffled(1024).reshape(32, 32), WARP, moved)
    counts = count(shear_sort.build(), subgroup_size=WARP)
    assert 2 * moved.compared == counts.operations(kind="minmax")(blocks=1)
    assert moved.shared + 2 * 1024 == counts.accesses("local")(blocks=1)
    assert moved.loaded + moved.stored == counts.accesses("global")(blocks=1)


GROUP, EACH = 32, 15


@pytest.mark.parametrize("n", [1, 480, 1000, 4801])
def test_any_keys_are_sorted_in_pairs(n):
    assert np.array_equal(np.arange(n), sorted_pairwise(shuffled(n), EACH, GROUP, Work()))
    assert np.array_equal(np.sort(shuffled(n) // 40), sorted_pairwise(shuffled(n) // 40, EACH, GROUP, Work()))


@pytest.fixture(scope="module")
def sort():
    n, work = GROUP * EACH * 32, Work()
    sorted_pairwise(shuffled(n), EACH, GROUP, work)
    return n, work


def test_global_memory_is_as_counted(sort):
    """2 N for the base case and each round; a block's searches are near the printed sum, not its approximation."""
    n, work = sort
    assert (5, 2 * n * (5 + 1)) == (work.rounds, work.words)
    blocks, block = n // (GROUP * EACH), GROUP * EACH
    approximation = (ceil(log2(n / block) ** 2) - ceil(log2(n * block))) / 2
    each = work.block_steps / blocks
    # 9 + 10 + ... + 14 steps, of which the last 14 are of no round: the last round's runs have N/2 elements. Near
    # the ends of a pair blocks search less, the first one nothing.
    most = steps_of_rounds(n, block) - ceil(log2(n))
    assert (1, 55) == (approximation, most)
    assert 0.7 * most < each < most
    formula = pairwise(ALGOPARC, EACH, n, GROUP, frozenset({"steps"})).amounts["g"] * 1664
    assert work.words + 32 * blocks * steps_of_rounds(n, block) == pytest.approx(formula)


def test_shared_memory_and_registers_are_as_counted(sort):
    """A read and a write of each element in each of log b and 5 rounds; a search has log bE steps at most."""
    n, work = sort
    assert 2 * n * (log2(GROUP) + 5) == work.shared
    formula = pairwise(ALGOPARC, EACH, n, GROUP, conflicts=(0, 1)).amounts["s"] * 1664
    assert formula == pytest.approx(work.shared)
    most = n // EACH * 5 * ceil(log2(GROUP * EACH))
    assert 0.7 * most < work.thread_steps < most
    # E^2/2 swaps of 3 operations each for E elements; a network of E elements has E (E - 1)/2 pairs
    assert n // EACH * EACH * (EACH - 1) / 2 == work.swaps
    assert 3 * work.swaps == pytest.approx(pairwise(ALGOPARC, EACH, n, GROUP).amounts["r"] * 1664, rel=0.07)


@pytest.mark.parametrize("each", [7, 15])
def test_the_device_kernel_of_the_pairwise_base_case_does_as_much(each):
    """Each element moves once from and to global memory, and in each of seven rounds out of and into local memory.

    In addition the block goes through local memory before and after, and a work-item searches its part, two reads a
    step, and reads two elements before it merges. A comparator is a minimum and a maximum.
    """
    group, rounds, blocks = 128, 7, 3
    work, n = Work(), 3 * 128 * each
    for part in np.random.default_rng(0).random((blocks, group * each)):
        sorted_pairwise(part, each, group, work)
    counts = count(block_sort.build(each), subgroup_size=32)
    steps = (group * each // 2).bit_length()
    assert work.words == counts.accesses("global")(blocks=blocks)
    assert 2 * work.swaps == counts.operations(kind="minmax")(blocks=blocks)
    assert work.shared == 2 * n * rounds
    found = {way: counts.accesses("local", direction=way)(blocks=blocks) for way in ("load", "store")}
    assert work.shared // 2 + 2 * n == found["store"]
    assert work.shared // 2 + 2 * n + rounds * n // each * (2 * steps + 2) == found["load"]
