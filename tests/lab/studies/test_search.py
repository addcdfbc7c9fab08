"""Formulas of chapter 6 against numbers worked out by hand, by enumeration and by counted addresses."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from scripts.lab.studies.karsin import gpu
from scripts.lab.studies.search import (
    FORMS,
    LAYOUTS,
    expected_most,
    expected_serialised,
    global_accesses,
    global_seconds,
    local_accesses,
    local_seconds,
    shared_accesses,
    worst_serialised,
)
from scripts.lab.studies.search_addresses import beta
from test_kernels.papers.search_global import scanned_share


def test_blocks_of_a_query_among_2_to_the_28_keys():
    """log2(2^28/32) + 1 = 24, log2(2^28/2^14) = 14, log33(2^14) = 2.8."""
    assert [24, 14, 3] == [global_accesses(layout, 2**28) for layout in LAYOUTS]
    assert [0, 14, 28] == [shared_accesses(layout, 2**28) for layout in LAYOUTS]


def test_seconds_in_global_memory_are_those_of_table_4_2():
    """10^8 queries on GIBSON: 1536 cores, 0.0279 words for each core and cycle, 1046 MHz, 10850 cycles to launch."""
    parts = global_seconds(gpu("GIBSON"), "sorted", 2**28, 1e8, "printed")
    assert parts == global_seconds(gpu("GIBSON"), "sorted", 2**28, 1e8, "bandwidth")  # 267.6 / 32 < 1 / 0.0279
    assert pytest.approx(32 * 24 * 1e8 / 1536 / 0.0279 / 1.046e9, rel=1e-3) == parts["g"]
    assert (0.0, pytest.approx(10850 / 1.046e9, rel=1e-3)) == (parts["s"], parts["sync"])
    loads = 128 * 1024 / 1536
    for reading, cycles in (("printed", 123.1), ("bandwidth", 1 / 0.130)):  # L_s where one thread runs on a core
        tree = global_seconds(gpu("GIBSON"), "btree", 2**28, 1e8, reading)
        assert pytest.approx((loads + 32 * 3 * 1e8 / 1536) / 0.0279 / 1.046e9, rel=1e-3) == tree["g"]
        assert pytest.approx((loads + 28 * 1e8 / 1536) * cycles / 1.046e9, rel=1e-3) == tree["s"]


def test_conflicts_multiply_the_time_in_shared_memory():
    once, twice = (local_seconds(gpu("GIBSON"), "naive", 1024, 5e8, 1024, one) for one in (1.0, 2.0))
    assert (once["g"], 2 * once["s"]) == pytest.approx((twice["g"], twice["s"]))
    multiplicity = 128 * 1024 / 1536  # a thread for each word of the list: latency is 123.1 / 85.3 = 1.44 < 1 / 0.13
    assert 123.1 / multiplicity < 1 / 0.130
    assert pytest.approx(10 * 5e8 / 1536 / 0.130 / 1.046e9, rel=1e-3) == once["s"]


@pytest.mark.parametrize(("balls", "bins", "sets"), [(2, 2, 1), (4, 4, 1), (4, 2, 2), (3, 5, 1), (5, 1, 1)])
def test_the_expected_most_is_that_over_all_throws(balls, bins, sets):
    throws = [max(np.bincount(one)) for one in product(range(bins), repeat=balls)]
    expected = np.mean([max(pair) for pair in product(throws, repeat=sets)])
    assert pytest.approx(expected) == expected_most(balls, bins, sets)


@pytest.mark.parametrize("form", FORMS)
def test_the_expected_conflicts_are_those_counted_for_random_queries(form):
    n = 2**14
    counted = beta(form, n, warps=200) * local_accesses(form, n)
    assert pytest.approx(counted, rel=0.01) == expected_serialised(form, n)
    assert counted < expected_serialised(form, n) * 1.02 <= worst_serialised(form, n) * 1.02


def test_a_scan_stops_after_the_first_larger_key():
    keys = 31
    looked = [next((k + 1 for k in range(keys) if k == child), keys) for child in range(keys + 1)]
    assert pytest.approx(np.mean(looked) / keys) == scanned_share(32)
