"""Work, depth and parallelism, against the figures of Kim et al. (2012), chapter 2, and by hand."""

from __future__ import annotations

import math

import pytest

from perfmodel.quantities.instructions import (
    critical_path,
    fast_critical_path,
    instruction_parallelism,
    memory_parallelism,
    work,
)
from tests.models.test_work_depth import case, chain, counted, tree


def test_figure_2_3_has_31_nodes_of_which_5_are_on_the_critical_path():
    found = case(tree(16))
    assert (31, 5) == (work(found), critical_path(found))
    assert pytest.approx(6.2) == work(found) / critical_path(found)


@pytest.mark.parametrize("leaves", [2, 4, 8, 32])
def test_a_tree_is_as_deep_as_its_height(leaves):
    found = case(tree(leaves))
    assert (2 * leaves - 1, 1 + math.log2(leaves)) == (work(found), critical_path(found))


@pytest.mark.parametrize("n", [16, 1000])
def test_a_sequential_sum_is_as_deep_as_long(n):
    # A load and n additions to an accumulator that begins with zero: figure 2.2.
    found = case(chain(), n=n)
    assert (2 * n, n + 1) == (work(found), critical_path(found))
    assert work(found) / critical_path(found) < 2


@pytest.mark.parametrize("n", [32, 320])
def test_parallel_inames_enter_the_depth_once(n):
    serial = "{[i, k]: 0 <= i < n and 0 <= k < m}"
    loop = counted(serial, "out[i] = sum(k, a[i, k])", assumptions="n, m >= 1")
    lanes = counted(serial, "out[i] = sum(k, a[i, k])", parallel={"i": "g.0"}, assumptions="n, m >= 1")
    assert 2 * n * 7 == work(case(loop, n=n, m=7)) == work(case(lanes, n=n, m=7))
    assert 8 == critical_path(case(lanes, n=n, m=7))
    assert 8 == critical_path(case(loop, n=n, m=7))  # the rows' sums do not wait for each other either


def test_trips_of_nested_loops_multiply():
    nested = "{[i, k]: 0 <= i < n and 0 <= k < m}"
    found = case(counted(nested, "out[0] = sum((i, k), a[i, k])", assumptions="n, m >= 1"), n=20, m=30)
    assert 601 == critical_path(found)


def test_the_span_of_fast_memory_leaves_global_loads_out():
    # n additions one after the other; the load is the other node of the critical path.
    found = case(chain(), n=100)
    assert (101, 100) == (critical_path(found), fast_critical_path(found))


def test_independent_loads_and_operations_are_in_flight_at_once():
    # Four loads before the first use. Eight instructions (4 loads, 2 products, a sum and the store)
    # with a chain of a load, a product, the sum and the store.
    text = "out[i] = a[i]*a[i+n] + a[i+2*n]*a[i+3*n]"
    found = case(counted("{[i]: 0 <= i < n}", text, parallel={"i": "g.0"}), n=64)
    assert 4 == memory_parallelism(found)
    assert 8 / 4 == instruction_parallelism(found)


