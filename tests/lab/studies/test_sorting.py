"""Counts and times of the three mergesorts, against numbers by hand and brute force."""

from __future__ import annotations

from dataclasses import replace
from math import inf, log2

import pytest

from scripts.lab.studies.karsin import PLATFORMS, gpu
from scripts.lab.studies.sorting import (
    CONFLICTS,
    RECOVERED,
    best,
    bounded_by_latency,
    gpu_mms,
    koike_sadakane,
    merge_rounds,
    pairwise,
    shares,
    sort_seconds,
)

ALGOPARC = gpu("ALGOPARC")


def rounds_by_merging(n, block, ways):
    """Merge groups of runs until one is left, and count the rounds."""
    runs, rounds = -(-n // block), 0
    while runs > 1:
        runs, rounds = -(-runs // ways), rounds + 1
    return rounds


@pytest.mark.parametrize("ways", [2, 3, 4, 8, 10, 16, 32])
@pytest.mark.parametrize(("n", "block"), [(10**8, 3968), (2**28, 1024), (2**29, 32), (100, 100), (10**6, 1), (3**9, 3)])
def test_rounds_are_those_of_merging(n, block, ways):
    assert rounds_by_merging(n, block, ways) == merge_rounds(n, block, ways)


def test_pairwise_as_printed_by_hand():
    """N = 10^8, b = 128, E = 31: N/(bE) = 25202 (2^14.62), log^2 of it 213.8, log NbE = 38.5; log bE = 11.95."""
    sort, each = pairwise(ALGOPARC, 31, conflicts=CONFLICTS), 2e8 / 1664
    assert {
        "g": each * (15 + 32 * (214 - 39) / (4 * 3968) + 1), "s": each * (3.1 * 12 / 31 + 2.2 * 22),
        "r": 3e8 * 31 / (2 * 1664), "y": 1e8 / 1664 * 16
    } == pytest.approx(dict(sort.amounts))  # fmt: skip
    threads = 312 * 1024 / (31 * 1664)
    assert {"g": 2 * threads, "s": threads, "r": threads, "y": threads} == pytest.approx(dict(sort.multiplicity))
    assert 16 == sort.launches
    times = sort_seconds(ALGOPARC, sort)
    assert sort.amounts["g"] / 0.0301 / 780e6 == pytest.approx(times["g"], rel=1e-4)  # at its bandwidth
    assert sort.amounts["s"] * 85.84 / threads / 780e6 == pytest.approx(times["s"], rel=1e-4)  # at its latency
    assert 16 * 7800 / 780e6 == pytest.approx(times["sync"])


def test_each_change_of_the_reading():
    printed = pairwise(ALGOPARC, 31)
    assert inf == pairwise(ALGOPARC, 31, changes=frozenset({"bandwidth"})).multiplicity["s"]
    barriers = pairwise(ALGOPARC, 31, changes=frozenset({"barriers"}))
    assert printed.amounts["y"] / (128 * 31) == pytest.approx(barriers.amounts["y"])
    steps = pairwise(ALGOPARC, 31, changes=frozenset({"steps"}))
    # 12 + 13 + ... + 27 = 312 steps of the binary searches of a block, each of which moves a block of 32 words
    blocks = 1e8 / (128 * 31)
    assert blocks * 32 * 312 / 1664 == pytest.approx(steps.amounts["g"] - 2e8 / 1664 * 16)
    with pytest.raises(ValueError, match="give one of bandwidth, barriers, steps"):
        pairwise(ALGOPARC, 31, changes=frozenset({"speed"}))


def test_conflicts_scale_their_part_of_shared_memory():
    none = pairwise(ALGOPARC, 16, conflicts=(0, 1)).amounts["s"]
    assert 2e8 / 1664 * 23 == pytest.approx(none)  # log2(10^8 / 16) = 22.6
    assert 2e8 / 1664 * 11 / 16 == pytest.approx(pairwise(ALGOPARC, 16, conflicts=(1, 1)).amounts["s"] - none)


@pytest.mark.parametrize("ways", [2, 4, 8, 16])
def test_koike_sadakane_by_adding_up_rounds(ways):
    """2 w log^2 w accesses to sort w elements; then a heap of log K levels moves 4 w log w of them for w elements."""
    n, w, cores = 2**25, 32, 1664  # 2^20 blocks: whole rounds for K = 2, 4, 16 and, rounded up, 8
    rounds = rounds_by_merging(n, w, ways)
    shared = n // w * 2 * w * 25 + rounds * (n // w) * 4 * w * 5 * log2(ways)
    sort = koike_sadakane(ALGOPARC, ways, n, summed=True)
    assert shared / cores == pytest.approx(sort.amounts["s"])
    assert 2 * n * (rounds + 1) / cores == pytest.approx(sort.amounts["g"])
    assert rounds + 1 == sort.launches
    approximate = koike_sadakane(ALGOPARC, ways, n).amounts["s"]
    assert 4 * n / cores * (5 * 25 + 12.5) == pytest.approx(approximate)


def test_latency_of_koike_sadakane_takes_whole_cycles():
    """K = 4: M = 192/14 = 13.7; 85.84 and 269.5 cycles of latency over it are 6.3 and 19.7."""
    sort = koike_sadakane(ALGOPARC, 4)
    assert 7 == pytest.approx(ALGOPARC.latency["s"] / sort.multiplicity["s"])
    assert 20 == pytest.approx(ALGOPARC.latency["g"] / sort.multiplicity["g"])
    assert {"s": True, "g": False} == bounded_by_latency(ALGOPARC, sort)
    unclocked = koike_sadakane(replace(ALGOPARC, clock_hz=1.0), 4)
    assert 192 / 14 == pytest.approx(unclocked.multiplicity["s"])


@pytest.mark.parametrize("ways", [2, 4, 8, 16])
def test_gpu_mms_by_adding_up_rounds(ways):
    """A base of 4 w log w accesses for w elements; then 4 w log K of them, and 6 w log w log K register operations."""
    n, w, cores = 2**22, 32, 1664  # 2^12 blocks of w^2: whole rounds for K = 2, 4, 8, 16
    rounds = rounds_by_merging(n, w * w, ways)
    sort = gpu_mms(ALGOPARC, ways, n)
    base = n // w * 4 * w * 5, n // w * 2 * w * 5**3
    merging = rounds * (n // w) * 4 * w * log2(ways), rounds * (n // w) * 6 * w * 5 * log2(ways)
    assert (base[0] + merging[0]) / cores == pytest.approx(sort.amounts["s"])
    assert (base[1] + merging[1]) / cores == pytest.approx(sort.amounts["r"])
    assert 2 * n * (rounds + 1) / cores == pytest.approx(sort.amounts["g"])
    assert log2(ways) == pytest.approx(sort.multiplicity["s"] / sort.multiplicity["g"])
    # Its heap holds half of what Koike and Sadakane's holds (7.3.3), so twice as many threads run.
    whole = replace(ALGOPARC, clock_hz=1.0)
    assert 2 == pytest.approx(gpu_mms(whole, ways).multiplicity["g"] / koike_sadakane(whole, ways).multiplicity["g"])


def test_where_nothing_is_hidden_the_multiplicity_is_that_of_a_thread():
    assert {"g": 2, "s": 1, "r": 1, "y": 1} == pairwise(ALGOPARC, 31, hidden=False).multiplicity
    assert {"g": 1, "s": 3, "r": 3} == gpu_mms(ALGOPARC, 8, hidden=False).multiplicity


@pytest.mark.parametrize("platform", PLATFORMS)
def test_shares_add_up_and_best_is_the_smallest(platform):
    device = gpu(platform)
    parts = sort_seconds(device, pairwise(device, 15, changes=RECOVERED))
    assert 1 == pytest.approx(sum(shares(parts).values()))
    times = {ways: sum(sort_seconds(device, gpu_mms(device, ways)).values()) for ways in (2, 4, 8, 16, 32)}
    chosen = best(device, lambda ways: gpu_mms(device, ways), (2, 4, 8, 16, 32))
    assert min(times.values()) == times[chosen]
    assert 8 == chosen  # 7.3.3: "either 8 or 16 on ALGOPARC", and 8 on the other two
