"""Formulas of chapter 6 against numbers by hand, by enumeration, and by searches written as loops."""

from collections import defaultdict
from itertools import product

import numpy as np
import pytest

from scripts.lab.studies import search, search_addresses as addresses
from scripts.lab.studies.karsin import gpu
from scripts.lab.studies.search_points import block_records, conflict_records, platform_records
from test_kernels.papers.search_global import scanned_share


def test_blocks_of_a_query_among_2_to_the_28_keys():
    """log2(2^28/32) + 1 = 24, log2(2^28/2^14) = 14, log33(2^14) = 2.8."""
    assert [24, 14, 3] == [search.global_accesses(layout, 2**28) for layout in search.LAYOUTS]
    assert [0, 14, 28] == [search.shared_accesses(layout, 2**28) for layout in search.LAYOUTS]


def test_seconds_in_global_memory_are_those_of_table_4_2():
    """10^8 queries on GIBSON: 1536 cores, 0.0279 words for each core and cycle, 1046 MHz, 10850 cycles to launch."""
    parts = search.global_seconds(gpu("GIBSON"), "sorted", 2**28, 1e8, "printed")
    assert parts == search.global_seconds(gpu("GIBSON"), "sorted", 2**28, 1e8, "bandwidth")  # 267.6 / 32 < 1 / 0.0279
    assert pytest.approx(32 * 24 * 1e8 / 1536 / 0.0279 / 1.046e9, rel=1e-3) == parts["g"]
    assert (0.0, pytest.approx(10850 / 1.046e9, rel=1e-3)) == (parts["s"], parts["sync"])
    loads = 128 * 1024 / 1536
    for reading, cycles in (("printed", 123.1), ("bandwidth", 1 / 0.130)):  # L_s where one thread runs on a core
        tree = search.global_seconds(gpu("GIBSON"), "btree", 2**28, 1e8, reading)
        assert pytest.approx((loads + 32 * 3 * 1e8 / 1536) / 0.0279 / 1.046e9, rel=1e-3) == tree["g"]
        assert pytest.approx((loads + 28 * 1e8 / 1536) * cycles / 1.046e9, rel=1e-3) == tree["s"]


def test_conflicts_multiply_the_time_in_shared_memory():
    once, twice = (search.local_seconds(gpu("GIBSON"), "naive", 1024, 5e8, 1024, one) for one in (1.0, 2.0))
    assert (once["g"], 2 * once["s"]) == pytest.approx((twice["g"], twice["s"]))
    multiplicity = 128 * 1024 / 1536  # a thread for each word of the list: latency is 123.1 / 85.3 = 1.44 < 1 / 0.13
    assert 123.1 / multiplicity < 1 / 0.130
    assert pytest.approx(10 * 5e8 / 1536 / 0.130 / 1.046e9, rel=1e-3) == once["s"]


@pytest.mark.parametrize(("balls", "bins", "sets"), [(2, 2, 1), (4, 4, 1), (4, 2, 2), (3, 5, 1), (5, 1, 1)])
def test_the_expected_most_is_that_over_all_throws(balls, bins, sets):
    throws = [max(np.bincount(one)) for one in product(range(bins), repeat=balls)]
    expected = np.mean([max(pair) for pair in product(throws, repeat=sets)])
    assert pytest.approx(expected) == search.expected_most(balls, bins, sets)


@pytest.mark.parametrize("form", search.FORMS)
def test_the_expected_conflicts_are_those_counted_for_random_queries(form):
    n = 2**14
    counted = addresses.beta(form, n, warps=200) * search.local_accesses(form, n)
    assert pytest.approx(counted, rel=0.01) == search.expected_serialised(form, n)
    assert counted < search.expected_serialised(form, n) * 1.02 <= search.worst_serialised(form, n) * 1.02


def test_a_scan_stops_after_the_first_larger_key():
    keys = 31
    looked = [next((k + 1 for k in range(keys) if k == child), keys) for child in range(keys + 1)]
    assert pytest.approx(np.mean(looked) / keys) == scanned_share(32)


def searched(form, words, query, lane):
    """The words looked at, and the predecessor found, in a list of keys."""
    at, looked, step = (0 if form == "naive" else lane), [], len(words) // 2
    while step >= (addresses.WARP if form == "free" else 1):
        looked.append(at + step)
        if at + step < len(words) and words[at + step] <= query:
            at += step
        step //= 2
    if form == "free":
        looked += range(at, at + addresses.WARP)
        at = max(k for k in range(at, min(at + addresses.WARP, len(words))) if words[k] <= query)
    return looked, at


@pytest.mark.parametrize("form", ["naive", "free", "limited"])
def test_addresses_are_those_of_a_search_that_finds_the_predecessor(form):
    ranks = addresses.random_ranks(256, 5, addresses.WARP - 1)
    words = [0] * addresses.WARP + [3 * k for k in range(1, 225)]
    words_read = addresses.local_addresses(form, 256, ranks)
    assert search.local_accesses(form, 256) == len(words_read)
    for (warp, lane), rank in np.ndenumerate(ranks):
        looked, found = searched(form, words, words[rank] + 1, lane)
        assert (looked, rank) == (words_read[:, warp, lane].tolist(), found)


@pytest.mark.parametrize("n", [2, 7, 8, 33, 100, 1024])
def test_algorithm_1_finds_every_predecessor(n):
    ranks = np.arange(n)
    words_read, found = addresses.printed_addresses(n, ranks)
    assert ranks.tolist() == found.tolist()
    assert (n - 1).bit_length() + 1 == len(words_read)  # one more than its loop has turns
    assert 0 <= words_read.min() <= words_read.max() < n


def test_words_of_trees_are_those_on_the_way_down():
    n = 1024
    ranks = np.arange(n)
    tree = addresses.global_addresses("bst", n, ranks)
    for rank in (0, 1, 511, 512, 700, 1023):
        node, way = 0, []
        for bit in range(9, -1, -1):
            way.append(node)
            node = 2 * node + 1 + (rank >> bit & 1)
        assert way == tree[:, rank].tolist()
    assert [[0, 32 * (1 + 700 // 32)]] == addresses.global_addresses("btree", n, ranks)[:, 700:701].T.tolist()


def counted(words, banks):
    found = defaultdict(set)
    for word in words:
        found[word % banks].add(word)
    return max(map(len, found.values()))


def test_passes_and_blocks_are_counted_word_by_word():
    words_read = np.random.default_rng(3).integers(0, 200, (4, 6, addresses.WARP))
    for place in np.ndindex(4, 6):
        assert counted(words_read[place].tolist(), 32) == addresses.serialised(words_read)[place]
        assert len({word // 32 for word in words_read[place].tolist()}) == addresses.blocks(words_read)[place]


def test_the_conflict_free_form_has_no_conflict():
    for n in (64, 1024, 4096):
        assert 1.0 == addresses.beta("free", n, warps=64)


@pytest.mark.parametrize("form", ["naive", "limited"])
@pytest.mark.parametrize("n", [2**11, 2**13])
def test_the_worst_case_is_reached_and_never_passed(form, n):
    worst = addresses.local_addresses(form, n, addresses.worst_ranks(form, n))
    assert search.worst_serialised(form, n) == addresses.serialised(worst).sum()
    ranks = addresses.random_ranks(n, 100, addresses.WARP - 1)
    random = addresses.serialised(addresses.local_addresses(form, n, ranks)).sum(axis=0)
    assert random.max() <= search.worst_serialised(form, n)


@pytest.mark.parametrize("layout", ["sorted", "bst", "btree"])
def test_expected_blocks_are_those_counted(layout):
    n = 2**15
    read = addresses.global_addresses(layout, n, addresses.random_ranks(n, 300))
    found = addresses.blocks(read).mean(axis=1)
    tolerance = {"rel": 0.3, "abs": 0.7} if layout == "bst" else {"rel": 0.02, "abs": 0}  # its levels cut blocks
    assert pytest.approx(addresses.expected_blocks(layout, n), **tolerance) == found.tolist()


def test_a_query_touches_fewer_blocks_of_a_b_tree():
    """The list: log2(N/w) = 10 steps of w words and more, the others in a block seen before; the B-tree: 3 levels."""
    ranks = addresses.random_ranks(2**15, 20)
    assert 10 == round(addresses.own_blocks(addresses.global_addresses("sorted", 2**15, ranks)).mean())
    assert (addresses.own_blocks(addresses.global_addresses("btree", 2**15, ranks)) == 3).all()


@pytest.mark.parametrize(("reading", "bst", "btree"), [
    ("printed", (1.586, 1.548, 1.564), (4.56, 4.00, 4.22)), ("bandwidth", (1.707, 1.703, 1.703), (7.71, 7.53, 7.54)),
])  # fmt: skip
def test_the_trees_are_faster_by_both_readings_of_shared_memory(reading, bst, btree):
    seconds = {
        (one["platform"], one["layout"]): one["seconds"] for one in platform_records() if one["reading"] == reading
    }
    platforms = ("ALGOPARC", "GIBSON", "UHHPC")
    for layout, ratios in (("bst", bst), ("btree", btree)):
        found = [seconds[name, "sorted"] / seconds[name, layout] for name in platforms]
        assert list(ratios) == pytest.approx(found, rel=2e-3)


def test_blocks_are_counted_down_the_layouts():
    """2^15 keys: 15 steps, of which the last five and the block of the first are shared; 15 levels; 3 nodes."""
    found = {one["layout"]: one for one in block_records(2**15, warps=20)}
    assert [10, 3] == [round(found[layout]["own_blocks"]) for layout in ("sorted", "btree")]
    assert 3 * 32 >= found["btree"]["warp_blocks"] > 2 * 24
    assert 10 < found["bst"]["own_blocks"] < 12  # the first five levels lie in one block


def test_conflicts_are_between_one_for_each_access_and_the_worst_case():
    for one in conflict_records(gpu("GIBSON"), warps=10):
        assert one["counted"] >= one["accesses"]
        known = one["form"] != "printed" and one["list"] in (1024, 2048, 4096, 8192, 16384)  # multiples of 32^2
        assert [known, known] == [one[name] is not None for name in ("expected", "worst")]
        if known:
            assert one["counted"] <= one["worst"]
        assert one["seconds"] > 0
        assert one["keys"] % 2 == (one["form"] == "printed")
