"""The operations of the busiest core (Karsin 2018, chapter 4), by hand."""

from __future__ import annotations

import loopy as lp
import numpy as np
import pytest

from perfmodel.counts import count
from tests.models.test_synchronous_parallel_throughput import counted, local, quantities


@pytest.mark.parametrize(
    ("index", "known", "words"),
    [
        ("i", {}, 1),
        ("2*i", {}, 2),
        ("5*i", {}, 5),
        ("100*i", {}, 32),  # each lane a block of its own
        ("0*i", {}, 1),  # one block for all lanes
        ("100*i", {"global_transaction_bytes": 32}, 8),
        ("0*i", {"global_transaction_bytes": 32}, 0.25),
    ],
)
def test_global_memory_is_counted_in_blocks_of_a_sub_group(index, known, words):
    counts = counted("{[i]: 0 <= i < n}", f"out[i] = a[{index}]", lp.GlobalArg("a", np.float32, shape=lp.auto))
    assert 1024 * (words + 1) == quantities(counts, **known)["memory_amount"]


def test_double_precision_moves_two_words():
    assumptions = "n >= 1 and n mod 64 = 0"
    t_unit = lp.make_kernel("{[i]: 0 <= i < n}", "out[i] = a[i]", assumptions=assumptions, lang_version=(2018, 2))
    t_unit = lp.split_iname(lp.add_dtypes(t_unit, {"a": np.float64}), "i", 64, outer_tag="g.0", inner_tag="l.0")
    assert 4 * 1024 == quantities(count(t_unit, subgroup_size=32))["memory_amount"]


def test_an_addition_and_a_multiplication_are_one_register_operation():
    counts = counted("{[i]: 0 <= i < n}", "out[i] = a[i]*a[i] + 2*a[i] + 1 + exp(a[i])")
    # Two products and three sums are three operations, the exponential another.
    assert 4 * 1024 == quantities(counts)["register_amount"]


@pytest.mark.parametrize(("stride", "beta"), [(1, 1), (2, 2), (3, 1), (4, 4)])
def test_bank_conflicts_count_where_banks_are_known(stride, beta):
    counts = local(stride)
    assert 2 * 1024 == quantities(counts)["local_amount"]
    assert 2 * 1024 * beta == quantities(counts, banks=32)["local_amount"]


@pytest.mark.parametrize(
    ("known", "groups"),
    [
        ({}, 8),  # 16 groups on 2 compute units
        ({"max_groups_per_unit": 4}, 4),
        ({"max_items_per_unit": 192}, 3),
        ({"local_memory_bytes": 1280}, 5),  # 256 bytes each
        ({"registers_per_unit": 12800, "registers_per_work_item": 100}, 2),
        ({"registers_per_unit": 12800}, 8),  # nobody tells what a work-item takes
        ({"local_memory_bytes": 100}, 1),  # one group always runs
    ],
)
def test_oversubscription_is_what_fits(known, groups):
    found = quantities(local(1), **known)
    assert 1024 == found["barrier_amount"]
    # Barriers know no parallelism within a work-item: M = M_o = groups * 64 / 32 lanes.
    assert found["barrier_amount"] / (64 * groups * 64 / 32) == pytest.approx(found["barrier_waits"])


@pytest.mark.parametrize("known", [{"device_type": "cpu"}, {"oversubscription": 0}])
def test_where_oversubscription_hides_nothing_only_the_work_item_s_own_parallelism_counts(known):
    counts = counted("{[i]: 0 <= i < n}", "out[i] = a[i] + b[i]", more=("b",))
    found = quantities(counts, **known)
    assert found["memory_amount"] / 64 / 2 == found["memory_waits"]  # two independent loads


def test_the_busiest_core_counts():
    counts = counted("{[i]: 0 <= i < n}", "out[i] = a[i]")
    amounts = [quantities(counts, n)["memory_amount"] for n in (64, 128, 192, 256)]
    assert [256, 256, 512, 512] == amounts
    assert 2 * 128 * 32 == quantities(counted("{[i]: 0 <= i < n}", "out[i] = a[i]", width=1), 128)["memory_amount"]
