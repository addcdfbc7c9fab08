"""The pairwise mergesort as a whole: it sorts, and does what sections 7.1.2 and 7.1.3 count."""

from __future__ import annotations

from math import ceil, log2

import numpy as np
import pytest

from perfmodel.counts import count
from scripts.lab.studies.pairwise_sort import Work, sorted_pairwise, steps_of_rounds
from scripts.lab.studies.sorting import pairwise
from test_kernels.papers import block_sort
from tests.lab.studies.test_sorting import ALGOPARC

GROUP, EACH = 32, 15


def shuffled(n, seed=3):
    return np.random.default_rng(seed).permutation(n).astype(np.float64)


@pytest.mark.parametrize("n", [1, 480, 1000, 4801])
def test_any_keys_are_sorted(n):
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


def test_shared_memory_is_as_counted(sort):
    """A read and a write of each element in each of log b and 5 rounds; a search has log bE steps at most."""
    n, work = sort
    assert 2 * n * (log2(GROUP) + 5) == work.shared
    formula = pairwise(ALGOPARC, EACH, n, GROUP, conflicts=(0, 1)).amounts["s"] * 1664
    assert formula == pytest.approx(work.shared)
    most = n // EACH * 5 * ceil(log2(GROUP * EACH))
    assert 0.7 * most < work.thread_steps < most


def test_registers_are_as_counted(sort):
    """E^2/2 swaps of 3 operations each for E elements; a network of E elements has E (E - 1)/2 pairs."""
    n, work = sort
    assert n // EACH * EACH * (EACH - 1) / 2 == work.swaps
    assert 3 * work.swaps == pytest.approx(pairwise(ALGOPARC, EACH, n, GROUP).amounts["r"] * 1664, rel=0.07)


@pytest.mark.parametrize("each", [7, 15])
def test_the_device_kernel_of_the_base_case_does_as_much(each):
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
