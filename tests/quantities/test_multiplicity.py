"""The operations of the busiest core (Karsin 2018, chapter 4), by hand."""

import loopy as lp
import numpy as np
import pytest

from perfmodel.counts import count
from perfmodel.facts import published
from perfmodel.quantities.multiplicity import CLASSES, Operations, merged
from tests.models.test_synchronous_parallel_throughput import counted, local, seconds, summed


@pytest.mark.parametrize(("index", "known", "words"), [
    ("i", {}, 1),
    ("2*i", {}, 2),
    ("5*i", {}, 5),
    ("100*i", {}, 32),  # each lane a block of its own
    ("0*i", {}, 1),  # one block for all lanes
    ("100*i", {"global_transaction_bytes": 32}, 8),
    ("0*i", {"global_transaction_bytes": 32}, 0.25),
])  # fmt: skip
def test_global_memory_is_counted_in_blocks_of_a_sub_group(index, known, words):
    counts = counted("{[i]: 0 <= i < n}", f"out[i] = a[{index}]", lp.GlobalArg("a", np.float32, shape=lp.auto))
    assert 1024 * (words + 1) == summed(counts, **known)["memory_amount"]


def test_an_addition_and_a_multiplication_are_one_register_operation():
    counts = counted("{[i]: 0 <= i < n}", "out[i] = a[i]*a[i] + 2*a[i] + 1 + exp(a[i])")
    # Two products and three sums are three operations, the exponential another.
    assert 4 * 1024 == summed(counts)["register_amount"]


@pytest.mark.parametrize(("stride", "beta"), [(1, 1), (2, 2), (3, 1), (4, 4)])
def test_bank_conflicts_count_where_banks_are_known(stride, beta):
    counts = local(stride)
    assert 2 * 1024 == summed(counts)["local_amount"]
    assert 2 * 1024 * beta == summed(counts, banks=32)["local_amount"]


@pytest.mark.parametrize(("known", "groups"), [
    ({}, 8),  # 16 groups on 2 compute units
    ({"max_groups_per_unit": 4}, 4),
    ({"max_items_per_unit": 192}, 3),
    ({"local_memory_bytes": 1280}, 5),  # 256 bytes each
    ({"registers_per_unit": 12800, "registers_per_work_item": 100}, 2),
    ({"registers_per_unit": 12800}, 8),  # the registers of a work-item are unknown
    ({"local_memory_bytes": 100}, 1),  # one group always runs
])  # fmt: skip
def test_oversubscription_is_what_fits(known, groups):
    found = summed(local(1), **known)
    assert 1024 == found["barrier_amount"]
    # Barriers have no parallelism within a work-item: M = M_o = groups * 64 / 32 lanes.
    assert found["barrier_amount"] / (64 * groups * 64 / 32) == pytest.approx(found["barrier_waits"])


def test_the_busiest_core_counts():
    counts = counted("{[i]: 0 <= i < n}", "out[i] = a[i]")
    amounts = [summed(counts, n)["memory_amount"] for n in (64, 128, 192, 256)]
    assert [256, 256, 512, 512] == amounts
    assert 2 * 128 * 32 == summed(counted("{[i]: 0 <= i < n}", "out[i] = a[i]", width=1), 128)["memory_amount"]


def table_4_2(words, accesses, blocks=1):
    """Seconds of accesses of one work-item for each core of the GTX 770, from the printed parameters of GIBSON."""
    return max(words / 0.0279, accesses * 267.6 / blocks) / 1536 / 1046e6


def sequence(*parts):
    """Launches, each with so many work-items that add up so many loads."""
    steps = []
    for k, _ in enumerate(parts):
        steps += [f"... gbarrier {{id=wait{k}, dep=step{k - 1}}}"] * (k > 0)
        steps.append(f"out{k}[i{k}] = sum(j{k}, a{k}[j{k}, i{k}]) {{id=step{k}{f', dep=wait{k}' if k else ''}}}")
    domains = [f"{{[i{k}, j{k}]: 0 <= i{k} < {n} and 0 <= j{k} < {loads}}}" for k, (n, loads) in enumerate(parts)]
    t_unit = lp.make_kernel(domains, steps, "...", lang_version=(2018, 2))
    t_unit = lp.add_dtypes(t_unit, {f"a{k}": np.float32 for k, _ in enumerate(parts)})
    for k, _ in enumerate(parts):
        t_unit = lp.split_iname(t_unit, f"i{k}", 64, outer_tag="g.0", inner_tag="l.0")
    return count(t_unit, subgroup_size=32)


def test_launches_take_their_times_one_after_the_other():
    """Theorem 3.1.7: few work-items wait for their loads, as 8 groups of 64 hide nothing; many are at the bandwidth.

    So are the additions: 10 cycles each of the few, half of them behind loads (M_I = 2).
    """
    few, many = (512, 4000), (262144, 8)
    known = published("gtx-770")
    added = (512 * 4000 * 10 / 2 + 262144 * 8) / 1536 / 1046e6
    by_hand = table_4_2(512 * 4001, 512 * 4001) + table_4_2(262144 * 9, 0) + added
    assert by_hand == pytest.approx(seconds(sequence(few, many), known), rel=1e-3)
    assert 401e-6 < by_hand < 402e-6  # with the mean number of groups of a launch it would be 101 us
    separate = [seconds(sequence(one), known) for one in (few, many)]
    assert sum(separate) == pytest.approx(seconds(sequence(few, many), known))


@pytest.mark.parametrize("stride", [1, 2, 5, 32, 100])
def test_the_blocks_of_a_split_access_do_not_wait_for_each_other(stride):
    """Section 6.1.1: a warp's load takes as many accesses as its lanes touch blocks, all in flight at once."""
    counts = counted("{[i]: 0 <= i < n}", f"out[i] = a[{stride}*i]", lp.GlobalArg("a", np.float32, shape=lp.auto))
    blocks = len({stride * lane // 32 for lane in range(32)})
    by_hand = table_4_2(512 * blocks, 512 * blocks, blocks) + table_4_2(512, 512)
    assert by_hand == pytest.approx(seconds(counts, published("gtx-770"), n=512), rel=2e-3)


def test_classes_of_nearby_multiplicities_are_merged():
    generator = np.random.default_rng(5)
    for n in range(1, 9):
        amounts, parallel = generator.uniform(1, 9, (n, 3)), generator.choice([1.0, 2.0, 8.0, 64.0, 65.0], (n, 3))
        classes = merged([Operations(a, a / m) for a, m in zip(amounts, parallel, strict=True)])
        assert CLASSES == len(classes)
        for column in range(3):
            pairs = [tuple(np.broadcast_to(part, 3)[column] for part in one) for one in classes]
            assert (amounts[:, column].sum(), (amounts / parallel)[:, column].sum()) == pytest.approx(
                tuple(map(sum, zip(*pairs, strict=True)))
            )
            for latency in (1.0, 5.0, 30.0, 64.5):  # at bandwidth 1
                alone = np.maximum(amounts, latency * amounts / parallel)[:, column].sum()
                exact = n <= CLASSES or len({*parallel[:, column]}) <= CLASSES
                assert sum(max(a, latency * w) for a, w in pairs) == pytest.approx(alone, rel=1e-12 if exact else 0.02)
