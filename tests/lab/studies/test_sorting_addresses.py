"""Addresses of a merge in shared memory, against a merge in plain Python, thread by thread."""

from __future__ import annotations

import numpy as np
import pytest

from scripts.lab.studies.sorting import CONFLICTS, pairwise
from scripts.lab.studies.sorting_addresses import (
    counted_conflicts,
    passes,
    random_sides,
    read_addresses,
    search_addresses,
    split_points,
    write_addresses,
)
from tests.lab.studies.test_sorting import ALGOPARC

GROUP = 32


def by_hand(sides, each):
    """Merge two lists in shared memory; return the words of each thread's search, and of the reads of its merge."""
    ranks = [[rank for rank, left in enumerate(sides) if left], [rank for rank, left in enumerate(sides) if not left]]
    memory, lefts = ranks[0] + ranks[1], len(ranks[0])
    searches, merges = [], []
    for thread in range(len(sides) // each):
        first, words = thread * each, []
        low, high = max(first - (len(sides) - lefts), 0), min(first, lefts)
        while low < high:
            middle = (low + high) // 2
            words += [middle, lefts + first - 1 - middle]
            if memory[words[-2]] <= memory[words[-1]]:
                low = middle + 1
            else:
                high = middle
        searches.append(words)
        i, j, words = low, lefts + first - low, []
        for _ in range(each):
            if j >= len(sides) or (i < lefts and memory[i] <= memory[j]):
                i += 1
                words.append(i)
            else:
                j += 1
                words.append(j)
        merges.append([min(word, len(sides) - 1) for word in words])
    return searches, merges


@pytest.mark.parametrize("each", [3, 8, 15])
def test_addresses_are_those_of_a_merge(each):
    sides = random_sides(each, GROUP, 3, seed=each)
    words, active, found = search_addresses(sides, each)
    assert np.array_equal(split_points(sides, each), found)
    reads = read_addresses(sides, each)
    for block, own in enumerate(sides):
        searches, merges = by_hand(own.tolist(), each)
        for thread in range(GROUP):
            assert searches[thread] == words[active[:, block, thread], block, thread].tolist()
            assert merges[thread] == reads[:, block, thread].tolist()


def test_passes_leave_idle_lanes_out():
    """Lanes 0 and 1 read words 0 and 32, of one bank; lane 2 would read a third one, but is idle."""
    words, active = np.arange(32) * 32, np.arange(32) < 2
    assert 2 == passes(words, active)
    assert 32 == passes(words)
    assert 1 == passes(np.stack([np.arange(32), words]), np.stack([active, 0 * active]))


@pytest.mark.parametrize(("each", "most"), [(15, 1), (16, 16), (31, 1), (24, 8), (32, 32)])
def test_writes_conflict_by_the_common_divisor(each, most):
    assert most == passes(write_addresses(each, 128))


def test_the_measured_factors_are_those_of_random_inputs():
    """Counted independently: the search has 3.14 with E = 31, a merge's reads 3.42 with E = 15."""
    assert 3.14 == pytest.approx(counted_conflicts(31).search, rel=0.02)
    assert 3.42 == pytest.approx(counted_conflicts(15).reads, rel=0.01)
    assert CONFLICTS == pytest.approx((counted_conflicts(31).betas[0], counted_conflicts(15).betas[1]), rel=0.03)


def test_a_sort_has_the_conflicts_of_its_own_e():
    odd, even = (pairwise(ALGOPARC, each).amounts["s"] for each in (31, 32))
    assert even > 5 * odd
    betas = counted_conflicts(31).betas
    assert odd == pairwise(ALGOPARC, 31, conflicts=betas).amounts["s"]
