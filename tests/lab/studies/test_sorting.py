"""Counts, times, addresses and claims of the three mergesorts, against numbers by hand and plain Python."""

from dataclasses import replace
from math import inf, log2

import numpy as np
import pytest

from scripts.lab.studies import sorting, sorting_addresses as addresses, sorting_curves
from scripts.lab.studies.claim import SLIP
from scripts.lab.studies.karsin import PLATFORMS, gpu
from scripts.lab.studies.karsin_tables import mergesort
from scripts.lab.studies.sorting import RECOVERED, gpu_mms, koike_sadakane, merge_rounds, pairwise, sort_seconds
from scripts.lab.studies.sorting_addresses import counted_conflicts, passes
from scripts.lab.studies.sorting_claims import best_each, changes_that_give, published_claims
from scripts.lab.studies.sorting_curves import gpu_mms_shares, koike_shares, pairwise_shares

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
    sort, each = pairwise(ALGOPARC, 31, conflicts=sorting.CONFLICTS), 2e8 / 1664
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


def test_conflicts_scale_their_part_and_without_hiding_the_multiplicity_is_that_of_a_thread():
    none = pairwise(ALGOPARC, 16, conflicts=(0, 1)).amounts["s"]
    assert 2e8 / 1664 * 23 == pytest.approx(none)  # log2(10^8 / 16) = 22.6
    assert 2e8 / 1664 * 11 / 16 == pytest.approx(pairwise(ALGOPARC, 16, conflicts=(1, 1)).amounts["s"] - none)
    assert {"g": 2, "s": 1, "r": 1, "y": 1} == pairwise(ALGOPARC, 31, hidden=False).multiplicity
    assert {"g": 1, "s": 3, "r": 3} == gpu_mms(ALGOPARC, 8, hidden=False).multiplicity


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
    assert {"s": True, "g": False} == sorting.bounded_by_latency(ALGOPARC, sort)
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


@pytest.mark.parametrize("platform", PLATFORMS)
def test_shares_add_up_and_best_is_the_smallest(platform):
    device = gpu(platform)
    parts = sort_seconds(device, pairwise(device, 15, changes=RECOVERED))
    assert 1 == pytest.approx(sum(sorting.shares(parts).values()))
    times = {ways: sum(sort_seconds(device, gpu_mms(device, ways)).values()) for ways in (2, 4, 8, 16, 32)}
    chosen = sorting.best(device, lambda ways: gpu_mms(device, ways), (2, 4, 8, 16, 32))
    assert min(times.values()) == times[chosen]
    assert 8 == chosen  # 7.3.3: "either 8 or 16 on ALGOPARC", and 8 on the other two


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
    sides = addresses.random_sides(each, GROUP, 3, seed=each)
    words, active, found = addresses.search_addresses(sides, each)
    assert np.array_equal(addresses.split_points(sides, each), found)
    reads = addresses.read_addresses(sides, each)
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
    assert most == passes(addresses.write_addresses(each, 128))


def test_the_measured_factors_are_those_of_random_inputs_and_each_e_has_its_own():
    """Counted independently: the search has 3.14 with E = 31, a merge's reads 3.42 with E = 15."""
    assert 3.14 == pytest.approx(counted_conflicts(31).search, rel=0.02)
    assert 3.42 == pytest.approx(counted_conflicts(15).reads, rel=0.01)
    betas = counted_conflicts(31).betas
    assert sorting.CONFLICTS == pytest.approx((betas[0], counted_conflicts(15).betas[1]), rel=0.03)
    odd, even = (pairwise(ALGOPARC, each).amounts["s"] for each in (31, 32))
    assert even > 5 * odd
    assert odd == pairwise(ALGOPARC, 31, conflicts=betas).amounts["s"]


def test_claims_and_their_numbers():
    """The numbers of docs/lab/spt.md, and of section 7.2.3 by hand: 192/(4K - 2) threads, 85.84 and 269.5 cycles.

    Shared memory waits longer than its 4.29 cycles from 4K - 2 = 10 on, global memory than its 33.2 from 26 on.
    """
    claims = {(one.source, one.paper[:20]): one for one in published_claims()}
    by_source = {source: one for (source, _), one in claims.items()}
    assert {SLIP} == {by_source[name].verdict for name in ("Fig. 7.1", "Fig. 7.3, as printed", "7.2.3")}
    assert "E = 12" in by_source["Fig. 7.1"].found
    assert "1.45 times" in by_source["Fig. 7.1"].found
    assert by_source["Fig. 7.1, recovered"].agrees
    assert by_source["7.1.3"].agrees
    assert "E = 27 is best of all E up to a warp" in by_source["Fig. 7.1, counted conflicts"].found
    assert "E = 48" in by_source["Fig. 7.1, recovered"].found
    assert "1 gives 31, that of all three" in by_source["Fig. 7.1, recovered"].found
    assert "K = 3 and K = 7" in by_source["7.2.3"].found
    assert [True, True] == [one.agrees for (source, _), one in claims.items() if source == "7.3.3"]
    assert [by_source[name].agrees for name in ("Fig. 7.5", "Fig. 7.8", "7.4")] == [True, True, False]
    assert all(one.agrees is not None and not one.measured for one in claims.values())
    assert [RECOVERED] == changes_that_give(ALGOPARC)
    assert (12, 48) == (best_each(ALGOPARC), best_each(ALGOPARC, RECOVERED))


@pytest.mark.parametrize("reading", sorting_curves.READINGS)
def test_shares_add_up_at_every_place(reading):
    for curves in (pairwise_shares(ALGOPARC, reading), koike_shares(ALGOPARC), gpu_mms_shares(ALGOPARC)):
        columns = zip(*(shares for _, shares in curves.values()), strict=True)
        assert [100.0] * len(next(iter(curves.values()))[0]) == pytest.approx([sum(column) for column in columns])


def test_figure_7_2_is_the_share_of_single_sorts():
    places, shares = pairwise_shares(ALGOPARC, "recovered")["global memory"]
    at = places.index(10**8)
    parts = mergesort(ALGOPARC, 31, 1e8, recovered=True)
    assert 100 * parts["g"] / sum(parts.values()) == pytest.approx(shares[at])
    assert all(65 <= share <= 80 for place, share in zip(places, shares, strict=True) if place >= 5e6)  # 7.1.4


def test_figure_7_3_has_steps_where_a_round_more_is_needed():
    """Throughput falls where log2 N/(bE) passes a whole number, and rises between: the stepwise profile of 7.1.4."""
    curves = sorting_curves.pairwise_throughput(ALGOPARC, "recovered")
    assert list(sorting_curves.ELEMENTS) == curves["E = 15"][0]
    assert all(few < many for few, many in zip(curves["E = 15"][1][3:], curves["E = 31"][1][3:], strict=True))
    sign = [later > earlier for earlier, later in zip(curves["E = 31"][1], curves["E = 31"][1][1:], strict=False)]
    assert {True, False} == set(sign)


def test_figures_7_5_and_7_8_have_the_shares_of_the_text():
    curves = koike_shares(ALGOPARC)
    assert list(sorting_curves.WAYS) == curves["shared memory"][0]
    assert curves["shared memory"][1][-1] > 75
    assert 50 < curves["shared memory"][1][0] < 65
    assert all(max(shares) < 50 for _, shares in gpu_mms_shares(ALGOPARC).values())
