"""Addresses against searches written as loops, and bank passes against counting word by word."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest

from scripts.lab.studies.search import local_accesses, worst_serialised
from scripts.lab.studies.search_addresses import (
    WARP,
    beta,
    blocks,
    expected_blocks,
    global_addresses,
    local_addresses,
    own_blocks,
    printed_addresses,
    random_ranks,
    serialised,
    worst_ranks,
)


def searched(form, words, query, lane):
    """The words looked at, and the predecessor found, in a list of keys."""
    at, looked, step = (0 if form == "naive" else lane), [], len(words) // 2
    while step >= (WARP if form == "free" else 1):
        looked.append(at + step)
        if at + step < len(words) and words[at + step] <= query:
            at += step
        step //= 2
    if form == "free":
        looked += range(at, at + WARP)
        at = max(k for k in range(at, min(at + WARP, len(words))) if words[k] <= query)
    return looked, at


@pytest.mark.parametrize("form", ["naive", "free", "limited"])
def test_addresses_are_those_of_a_search_that_finds_the_predecessor(form):
    ranks = random_ranks(256, 5, WARP - 1)
    words = [0] * WARP + [3 * k for k in range(1, 225)]
    addresses = local_addresses(form, 256, ranks)
    assert local_accesses(form, 256) == len(addresses)
    for (warp, lane), rank in np.ndenumerate(ranks):
        looked, found = searched(form, words, words[rank] + 1, lane)
        assert (looked, rank) == (addresses[:, warp, lane].tolist(), found)


@pytest.mark.parametrize("n", [2, 7, 8, 33, 100, 1024])
def test_algorithm_1_finds_every_predecessor(n):
    ranks = np.arange(n)
    addresses, found = printed_addresses(n, ranks)
    assert ranks.tolist() == found.tolist()
    assert (n - 1).bit_length() + 1 == len(addresses)  # one more than its loop has turns
    assert 0 <= addresses.min() <= addresses.max() < n


def test_words_of_trees_are_those_on_the_way_down():
    n = 1024
    ranks = np.arange(n)
    tree = global_addresses("bst", n, ranks)
    for rank in (0, 1, 511, 512, 700, 1023):
        node, way = 0, []
        for bit in range(9, -1, -1):
            way.append(node)
            node = 2 * node + 1 + (rank >> bit & 1)
        assert way == tree[:, rank].tolist()
    assert [[0, 32 * (1 + 700 // 32)]] == global_addresses("btree", n, ranks)[:, 700:701].T.tolist()


def counted(words, banks):
    found = defaultdict(set)
    for word in words:
        found[word % banks].add(word)
    return max(map(len, found.values()))


def test_passes_and_blocks_are_counted_word_by_word():
    addresses = np.random.default_rng(3).integers(0, 200, (4, 6, WARP))
    for place in np.ndindex(4, 6):
        assert counted(addresses[place].tolist(), 32) == serialised(addresses)[place]
        assert len({word // 32 for word in addresses[place].tolist()}) == blocks(addresses)[place]


def test_the_conflict_free_form_has_no_conflict():
    for n in (64, 1024, 4096):
        assert 1.0 == beta("free", n, warps=64)


@pytest.mark.parametrize("form", ["naive", "limited"])
@pytest.mark.parametrize("n", [2**11, 2**13])
def test_the_worst_case_is_reached_and_never_passed(form, n):
    assert worst_serialised(form, n) == serialised(local_addresses(form, n, worst_ranks(form, n))).sum()
    random = serialised(local_addresses(form, n, random_ranks(n, 100, WARP - 1))).sum(axis=0)
    assert random.max() <= worst_serialised(form, n)


@pytest.mark.parametrize("layout", ["sorted", "bst", "btree"])
def test_expected_blocks_are_those_counted(layout):
    n = 2**15
    found = blocks(global_addresses(layout, n, random_ranks(n, 300))).mean(axis=1)
    tolerance = 0.02 if layout != "bst" else 0.3  # levels of the tree do not begin with a block
    assert pytest.approx(expected_blocks(layout, n), rel=tolerance, abs=0.7 * (layout == "bst")) == found.tolist()


def test_a_query_touches_fewer_blocks_of_a_b_tree():
    """The list: log2(N/w) = 10 steps of w words and more, the others in a block seen before; the B-tree: 3 levels."""
    ranks = random_ranks(2**15, 20)
    assert 10 == round(own_blocks(global_addresses("sorted", 2**15, ranks)).mean())
    assert (own_blocks(global_addresses("btree", 2**15, ranks)) == 3).all()
