"""The pairwise mergesort as a whole: it sorts, and does what sections 7.1.2 and 7.1.3 count."""

from __future__ import annotations

from math import ceil, log2

import numpy as np
import pytest

from scripts.lab.studies.pairwise_sort import Work, sorted_pairwise, steps_of_rounds
from scripts.lab.studies.sorting import pairwise
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
