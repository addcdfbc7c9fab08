"""The models before SPT, against external sorting, loops and SPT itself."""

from __future__ import annotations

from math import ceil, log2

import pytest

from scripts.lab.studies.earlier_models import (
    agpu_complexity,
    best_ways,
    brent_time,
    bsp_time,
    kothapalli_seconds,
    pem_scan,
    pem_search,
    pem_sort,
)
from scripts.lab.studies.karsin import gpu
from scripts.lab.studies.sorting import koike_sadakane, merge_rounds, sort_seconds

ALGOPARC = gpu("ALGOPARC")


def blocks_moved(n, memory, block, ways):
    """Blocks that an external mergesort on one processor reads and writes: runs of `memory`, then rounds of `ways`."""
    moved, runs = 2 * (n // block), n // memory
    while runs > 1:
        moved, runs = moved + 2 * (n // block), -(-runs // ways)
    return moved


@pytest.mark.parametrize(("n", "memory", "block"), [(2**20, 2**10, 2**5), (2**24, 2**12, 2**6), (2**18, 2**12, 2**3)])
def test_sorting_reaches_its_bound_with_as_many_ways_as_blocks_fit(n, memory, block):
    """K = M/B (section 7.2) is within the constant 2 of the bound, each block being read and written; K = 2 is not."""
    bound = pem_sort(n, 1, memory, block) - log2(n)
    most = blocks_moved(n, memory, block, int(best_ways(memory, block)))
    assert bound <= most <= 2 * (bound + n / block)
    assert blocks_moved(n, memory, block, 2) > 1.5 * most


def test_a_scan_and_a_search():
    processors, block, n = 8, 32, 2**16
    shares = [range(p * n // processors, (p + 1) * n // processors) for p in range(processors)]
    assert pem_scan(n, processors, block) == max(len({at // block for at in share}) for share in shares)
    nodes, keys = 0, 1  # a B-tree of nodes of B - 1 keys and B children
    while keys < n:
        nodes, keys = nodes + 1, keys * block
    assert nodes == ceil(pem_search(n, block))


def test_supersteps_and_brent_s_bound_are_sums():
    steps = [(100, 10), (50, 0), (70, 3)]
    assert 100 + 40 + 20 + 50 + 20 + 70 + 12 + 20 == bsp_time(steps, gap=4, barrier=20)
    # Adding up 16 numbers in a tree on 2 processors: 8, 4, 2 and 1 additions, in 4 + 2 + 1 + 1 steps.
    assert 4 + 2 + 1 + 1 <= brent_time(15, 4, 2)


def test_kothapalli_s_model_is_spt_of_two_operations_without_bandwidth():
    sort = koike_sadakane(ALGOPARC, 8)
    theirs = kothapalli_seconds(ALGOPARC, {**sort.amounts, "r": 1e9}, threads=4, launches=sort.launches)
    assert {"g", "s", "sync"} == set(theirs)
    assert sort.amounts["g"] * 269.5 / 4 / 780e6 == pytest.approx(theirs["g"])
    # Where latency binds in SPT too, at 192/30 threads of 4.7, both are one but for whole cycles: 43 for 42.1.
    threads = ALGOPARC.shared_words / ALGOPARC.cores / 30
    spt = sort_seconds(ALGOPARC, sort)
    assert spt["g"] == pytest.approx(kothapalli_seconds(ALGOPARC, sort.amounts, threads)["g"] * 43 / 42.109, rel=1e-3)


def test_agpu_s_complexities_are_the_amounts_of_the_two_memories():
    sort = koike_sadakane(ALGOPARC, 8, 2.0**28)
    rounds = merge_rounds(2**28, 32, 8)
    assert (2 * 2**28 * (rounds + 1) / 1664, sort.amounts["s"]) == pytest.approx(agpu_complexity(sort.amounts))
