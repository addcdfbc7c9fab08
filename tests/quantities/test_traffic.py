"""Bytes moved, against closed forms."""

from dataclasses import replace
from functools import cache

import loopy as lp
import numpy as np
import pytest

from perfmodel.counts import count
from perfmodel.errors import FactsError
from perfmodel.facts import DeviceFacts, Fact, published
from perfmodel.quantities import traffic
from perfmodel.quantities.case import Case
from tests.corpus.kernel import make
from tests.counts.traffic.simulation import fetched_lines
from tests.models.test_roofline import ADD, case, counted
from tests.models.test_threaded_manycore import GTX480, counted as counted_rows
from tests.quantities.tiles import tile


@pytest.mark.parametrize(("index", "moved"), [
    ("i", lambda n: 4 * n),
    ("2*i", lambda n: 4 * (2 * n - 1)),  # lines are fetched whole, gaps and all
    ("100*i", lambda n: 64 * n),  # each cell is in a line of its own
    ("0*i", lambda n: 4),
])  # fmt: skip
def test_gaps_are_moved_as_far_as_a_line_spans_them(index, moved):
    counts = counted("{[i]: 0 <= i < n}", f"out[i] = a[{index}]", a=lp.auto)
    assert moved(1024) + 4 * 1024 == pytest.approx(traffic.global_bytes(case(counts, n=1024)), rel=2e-3)


@pytest.mark.parametrize(("loads", "cells", "transfers"), [
    (("2*i",), 1, 2 * 4 / 64),  # every line holds a cell
    (("32*i", "32*i + 1", "32*i + 7"), 3, 1),  # of two lines one; the other holds no cell
    (("100*i",), 1, 1),
    (("i",), 1, 4 / 64),
])  # fmt: skip
def test_a_lower_bound_of_what_moves_has_no_lines_without_a_cell(loads, cells, transfers):
    text = " + ".join(f"a[{index}]" for index in loads)
    counts = counted("{[i]: 0 <= i < n}", f"out[i] = {text}", a=lp.auto)
    moved = 1024 * max(4 * cells, 64 * transfers)
    assert moved + 4 * 1024 == pytest.approx(traffic.least_bytes(case(counts, n=1024)), rel=2e-3)
    assert traffic.least_bytes(case(counts, n=1024)) <= traffic.global_bytes(case(counts, n=1024)) * (1 + 1e-12)


def test_what_the_caches_of_a_device_hold_together():
    def device_with(**known):
        made_up = {key: Fact(value, "", "made up") for key, value in known.items()}
        return DeviceFacts.from_mapping("toy", "none", "0", made_up)

    assert 0 == traffic.cached_bytes(None) == traffic.cached_bytes(device_with())
    assert 2**20 == traffic.cached_bytes(device_with(l2_bytes=2**20, compute_units=8, device_type="gpu"))
    assert 2**23 == traffic.cached_bytes(device_with(l2_bytes=2**20, compute_units=8, device_type="cpu"))
    assert 2**24 == traffic.cached_bytes(device_with(l2_bytes=2**20, l3_told_bytes=2**25, last_level_bytes=2**24))
    assert 2**25 == traffic.cached_bytes(device_with(l2_bytes=2**20, l3_told_bytes=2**25, l3_bytes=2**22))


def test_the_size_of_a_transfer_is_the_first_that_is_known():
    def device_with(**known):
        made_up = {key: Fact(value, "B", "made up") for key, value in known.items()}
        return Case(ADD, {"n": 64}, DeviceFacts.from_mapping("toy", "none", "0", made_up), "roofline")

    lines = {"cache_line_bytes": 128, "l2_line_bytes": 64}
    assert 32 == traffic.transfer_bytes(device_with(**lines, global_transaction_bytes=32))
    assert 64 == traffic.transfer_bytes(device_with(**lines))
    assert 128 == traffic.transfer_bytes(device_with(cache_line_bytes=128))
    for known in (device_with(), Case(ADD, {"n": 64}, None, "roofline")):
        with pytest.raises(FactsError) as caught:
            traffic.transfer_bytes(known)
        assert ("global_transaction_bytes", "roofline") == (caught.value.key, caught.value.family)


@pytest.mark.parametrize("stride", [0, 1, 4])
def test_local_bytes_of_a_tile(stride):
    # 10 work-groups of 64 store 4 bytes each and load as many, or a shared cell once for each of two sub-groups.
    loaded = 4 * 2 if stride == 0 else 4 * 64
    assert 10 * (4 * 64 + loaded) == traffic.local_bytes(case(tile(stride), n=640))


def test_a_tile_need_not_move_where_each_work_item_loads_what_it_stored():
    """Without a barrier none can load what another one stored."""
    alone, crossed = case(tile(1), n=640), case(tile(4), n=[640, 1280])
    assert [False, True] == [bool(one.counts.barriers()(n=640)) for one in (alone, crossed)]
    assert 0 == traffic.least_local_bytes(alone) < traffic.local_bytes(alone)
    assert traffic.local_bytes(crossed).tolist() == traffic.least_local_bytes(crossed).tolist()


@pytest.mark.parametrize(("index", "width", "each"), [
    ("i", 64, 1 / 32),
    ("0*i", 64, 1 / 32),
    ("2*i", 64, 2 / 32),
    ("100*i", 64, 1),
    ("i", 8, 1 / 8),  # shorter rows of work-items, each a chunk of its own
    ("i", 1, 1),
    ("where[i]", 64, 1 + 1 / 32),
])  # fmt: skip
def test_row_transactions(index, width, each):
    found = traffic.row_transactions(Case(counted_rows(index, width), {"n": 1024}, GTX480, ""))
    assert 1024 * (each + 1 / min(width, 32)) == pytest.approx(found)  # and the store


@pytest.mark.parametrize(("stride", "size", "transactions"), [
    (0, 4, 1), (1, 4, 1), (1, 8, 2), (4, 4, 4), (16, 4, 16), (64, 4, 32), (np.inf, 4, 32),
])  # fmt: skip
def test_transactions_of_a_sub_group(stride, size, transactions):
    """Section 3.2 of Wang and Lou: size * 32 lanes * stride over 128 bytes, between 1 and 32."""
    case = Case(counted_rows(), {"n": 64}, GTX480, "")
    assert 128 == GTX480.value("global_transaction_bytes")
    assert transactions == traffic.subgroup_transactions(case, np.array([float(stride)]), np.array([float(size)]))[0]


C2050 = published("tesla-c2050")
LINE = 128


@cache
def row_sums():
    """Each of the work-items of a group adds up a row of 64 cells, two lines."""
    t_unit = make("{[i, k]: 0 <= i < n and 0 <= k < 64}", "out[i] = sum(k, a[i, k])",
                  [lp.GlobalArg("a", np.float32, shape="n, 64"), ...], assumes="n >= 64 and n mod 64 = 0")  # fmt: skip
    return count(lp.split_iname(t_unit, "i", 64, outer_tag="g.0", inner_tag="l.0"), subgroup_size=32)


def of_product(n=256, **facts):
    made_up = {key: Fact(value, "", "made up") for key, value in {"max_groups_per_unit": 1, **facts}.items()}
    return Case(row_sums(), {"n": n}, C2050.updated(made_up), "gpuperf")


def lines_of(n):
    """The lines of each sub-group's accesses, one sub-group after the other."""
    for first in range(0, n, 32):
        for k in range(64):
            yield from (("a", (64 * lane + k) // 32) for lane in range(first, first + 32))
        yield "out", first // 32


def missed(lines, capacity):
    """How many of the lines, in their order, are not among the latest of a cache of so many."""
    return sum(1 for _ in fetched_lines(lines, capacity))


@pytest.mark.parametrize("l1_bytes", [1024, 8192, 16384])
@pytest.mark.parametrize("l2_bytes", [2**15, 2**22])
def test_miss_ratios_are_those_of_simulated_caches(l1_bytes, l2_bytes):
    """256 rows of 256 bytes; the last cache is small, or keeps all from run to run."""
    lines = list(lines_of(256))
    memory = 0 if l2_bytes == 2**22 else missed(lines, l2_bytes // LINE)
    found = traffic.miss_ratios(of_product(l1_bytes=l1_bytes, l2_bytes=l2_bytes), len(lines))
    expected = missed(lines, l1_bytes // LINE), min(memory, missed(lines, l1_bytes // LINE))
    assert pytest.approx([number / len(lines) for number in expected], rel=0.02) == list(found)


def test_groups_that_a_unit_holds_share_its_first_cache():
    products = (of_product(2**16, l1_bytes=2**14, max_groups_per_unit=groups) for groups in (1, 8))
    one, eight = (traffic.miss_ratios(product, 2**22)[0] for product in products)
    lines = list(lines_of(64))
    assert (missed(lines, 128), missed(lines, 16)) == pytest.approx((130, 64 * 64 + 2))
    assert pytest.approx(one * (64 * 64 + 2) / 130, rel=0.02) == eight


def test_sizes_at_once_and_one_by_one_miss_alike():
    sizes = np.array([64, 256, 4096])
    together = traffic.miss_ratios(of_product(sizes), 64.0 * sizes)
    for place, n in enumerate(sizes):
        alone = traffic.miss_ratios(of_product(int(n)), 64.0 * n)
        assert pytest.approx([ratio[place] for ratio in together]) == list(alone)


def test_facts_replace_what_is_computed_and_multiply():
    assert (0.25, 0.125) == traffic.miss_ratios(of_product(l1_miss_ratio=0.25, l2_miss_ratio=0.5), 1.0)
    unknown = tuple(fact for fact in C2050.facts if fact[0] not in ("l1_bytes", "l2_bytes", "cache_bytes"))
    bare = Case(row_sums(), {"n": 64}, replace(C2050, facts=unknown), "gpuperf")
    assert (1, 1) == traffic.miss_ratios(bare, 4096.0)  # no size is known


@pytest.mark.parametrize("on_chip", [1024, 8192, 2**20])
def test_a_finite_z_moves_what_a_cache_of_its_size_moves(on_chip):
    """Kim et al. (2012), section 2.3: Q(n; Z, L); rows that do not fit are loaded again for each of their cells."""
    found = traffic.global_bytes(of_product(on_chip_bytes=on_chip))
    assert pytest.approx(LINE * missed(lines_of(256), on_chip // LINE), rel=0.02) == found
    if on_chip == 2**20:
        assert found == traffic.global_bytes(of_product())  # as without a limit
