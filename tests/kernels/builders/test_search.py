"""Layouts of keys: what a search in plain Python finds in them."""

from __future__ import annotations

import bisect

import numpy as np
import pytest

from perfmodel.counts import count
from test_kernels.papers._search import (
    LEAST,
    MOST,
    keys_of,
    level_order,
    node_count,
    node_order,
    nothing_found,
    random_queries,
    root_children,
    searched,
    spaced_keys,
)

SORTED = np.array([0, 3, 4, 9, 12, 13, 20, 21, 30, 31, 33, 40, 41, 50, 60, 61], np.int32)


def down_the_tree(tree, query):
    node = 0
    while node < len(tree) - 1:
        node = 2 * node + (2 if tree[node] <= query else 1)
    return node - (len(tree) - 1)


def down_the_nodes(nodes, query, width, height):
    """Children of a level are numbered from left to right, and a level's nodes follow those of the level above."""
    above, child, inhabited = 0, 0, 1
    for level in range(height):
        own = sum(key <= query for key in nodes[above + child][: width - 1])
        child, above = child * width + own, above + inhabited
        inhabited = sum(key != MOST for key in nodes[0][: width - 1]) + 1 if level == 0 else inhabited * width
    return child


@pytest.mark.parametrize("query", range(64))
def test_every_layout_leads_to_the_predecessor(query):
    expected = bisect.bisect_right(SORTED.tolist(), query) - 1
    assert expected == down_the_tree(level_order(SORTED), query)
    assert expected == down_the_nodes(node_order(SORTED, 4), query, 4, 2)
    assert expected == down_the_nodes(node_order(SORTED, 8), query, 8, 2)  # the root has but two children


@pytest.mark.parametrize("depth", range(6, 23))
def test_nodes_are_counted_as_they_are_made(depth):
    n = 2**depth
    assert n == keys_of(node_count(n))
    assert n == root_children(n) * 32 ** ((depth - 1) // 5)
    if depth < 17:
        assert (node_count(n), 32) == node_order(spaced_keys(n)).shape


def test_keys_and_queries_lie_between_the_least_and_the_most():
    keys, queries = spaced_keys(2**14), random_queries(np.random.default_rng(1), (2**14,))
    assert keys[0] == LEAST
    assert {2**17} == set(np.diff(keys.astype(int)))
    assert LEAST <= queries.min() <= queries.max() < MOST
    assert np.isin(queries, keys).mean() > 0.12  # some are keys themselves
    assert [-1, -1] == nothing_found(np.random.default_rng(1), (2,)).tolist()


def test_each_item_answers_its_turns():
    counts = count(searched("last", "<int32> at = keys[n - 1]", {"keys": "n"}, turns=4, sizes=("n",)))
    assert 1024 == counts.accesses(array="queries")(q=1024, n=8)
    assert 1024 == counts.accesses(array="found", direction="store")(q=1024, n=8)
    assert 2 == counts.work_groups()(q=1024, n=8)
    assert (32, 4) == counts.launch.group_shape[:2]
