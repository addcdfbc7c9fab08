"""What is read from a device's facts and what is assumed; the lines of each level, worked out by hand."""

import loopy as lp
import numpy as np
import pytest

from perfmodel.counts import count
from perfmodel.counts.traffic.footprints import Cache
from perfmodel.facts import DeviceFacts, Fact
from perfmodel.quantities.bottleneck.device import ASSUMED, device_of, evicted_share
from perfmodel.quantities.case import Case
from perfmodel.quantities.traffic import cold_share
from tests.corpus.kernel import make
from tests.quantities.bottleneck.by_hand import copy, kernel, quantities


def of(**facts: object) -> DeviceFacts:
    values = {key: Fact(value, "", "given") for key, value in facts.items()}  # type: ignore[arg-type]
    return DeviceFacts.from_mapping("d", "p", "1", values)


def test_nothing_is_known() -> None:
    device = device_of(Case(copy(), {"n": 64}))
    assert (ASSUMED["lane_order"], copy().subgroup_size, 1, 64) == (
        device.order, device.lanes, device.units, device.line
    )  # fmt: skip
    assert (Cache(32768 // 64, 64, 64), Cache(1 << 14, 64, 64), Cache(1 << 19, 64, 64)) == device.levels
    assert Cache(2048, 4096, 0) == device.pages


def test_facts_count_more_than_what_is_assumed() -> None:
    facts = of(
        lane_order="serial", vector_lanes=4, compute_units=6, l1_bytes=49152, l1_ways=12, cache_bytes=1 << 23,
        cache_line_bytes=128,
    )  # fmt: skip
    device = device_of(Case(copy(), {"n": 64}, facts))
    assert ("serial", 4, 6, 128) == (device.order, device.lanes, device.units, device.line)
    assert (Cache(49152 // 128, 128, 32), 1 << 23) == (device.levels[0], device.levels[2].bytes)
    assert [4.0, 2.0, 8.0, 1.0] == [device.lanes_of(bits) for bits in (32, 64, 16, 256)]


@pytest.mark.parametrize(("registers", "kept"), [(16, 8), (32, 24)])
def test_carried_values_fill_the_registers_that_operands_leave(registers: int, kept: int) -> None:
    assert kept == device_of(Case(copy(), {"n": 64}, of(vector_registers=registers))).kept_in_registers


@pytest.mark.parametrize(
    ("units", "groups", "times"), [(2, 1, 2.0), (2, 2, 1.0), (2, 3, 4 / 3), (3, 4, 1.5), (16, 1, 4.0), (16, 8, 2.0)]
)
def test_cores_without_a_group_move_no_lines_of_memory(units: int, groups: int, times: float) -> None:
    """Four units use all of the bandwidth. With fewer, lines count by the share of groups on the busiest unit."""
    caches = {"l1_bytes": 256, "l1_ways": 4, "l2_bytes": 256, "l2_ways": 4, "l3_bytes": 256, "l3_ways": 4}
    alone = quantities(copy(), "lockstep", {**caches, "compute_units": 1}, n=64 * groups)
    several = quantities(copy(), "lockstep", {**caches, "compute_units": units}, n=64 * groups)
    card = quantities(copy(), "lockstep", {**caches, "compute_units": units, "device_type": "gpu"}, n=64 * groups)
    for name in ("memory_streams", "memory_stores"):
        assert 0 < alone[name] == card[name]
        assert times * alone[name] == pytest.approx(several[name])


def test_what_a_small_cache_fetches_again_counts_by_itself() -> None:
    """Each of n work-items reads all of b: 4 KiB stay in a cache of 8 KiB, and not in one of 1 KiB."""
    counts = kernel(
        "[n, k] -> { [i, j]: 0 <= i < n and 0 <= j < k }", "out[i] = sum(j, a[i]*b[j])", "a: n; b: k; out: n"
    )
    large, small = (
        quantities(counts, "serial", {"l1_bytes": size, "l1_ways": size // 64}, n=64, k=1024) for size in (8192, 1024)
    )
    assert "again_loaded" not in large
    assert 63 * 64 == pytest.approx(small["again_loaded"], rel=0.01)  # 64 lines by all items but the first
    assert large["first_loaded"] == small["first_loaded"] == 64 + 4


def test_lines_share_a_set_by_their_places_in_a_page() -> None:
    """A page of 4 KiB has 64 lines, so that a cache of 1024 sets and 16 ways is one of 64 sets and 256 ways."""
    level = {"l2_bytes": 1 << 20, "l2_ways": 16}
    assert 64 == device_of(Case(copy(), {"n": 64}, of(**level))).levels[1].sets
    assert 1024 == device_of(Case(copy(), {"n": 64}, of(**level, page_told_bytes=1 << 21))).levels[1].sets
    gpu = device_of(Case(copy(), {"n": 64}, of(**level, device_type="gpu")))
    assert (1024, None) == (gpu.levels[1].sets, gpu.pages)


@pytest.mark.parametrize(("known", "walks"), [(128, 1023 * 256), (512, 0)])
def test_a_page_that_the_tlb_lost_is_looked_up_again(known: int, walks: int) -> None:
    """Each of 1024 work-items goes down a column of 256 rows, each of a page."""
    columns = kernel("[n, k] -> { [i, j]: 0 <= i < n and 0 <= j < k }", "out[i] = sum(j, a[j, i])", "a: k, n; out: n")
    column_sums = quantities(columns, "serial", {"tlb_pages": known}, n=1024, k=256)
    assert walks == pytest.approx(column_sums.get("page_walks", 0.0), rel=0.01)


@pytest.mark.parametrize(("touched", "share"), [(1.0, 0.0), (256.0, 0.0), (512.0, 0.5), (1024.0, 1.0), (1e9, 1.0)])
def test_lines_are_cold_from_a_quarter_of_the_cache_on(touched: float, share: float) -> None:
    assert share == pytest.approx(cold_share(touched, 1024.0))


@pytest.mark.parametrize("ratio", [0.25, 1.0, 1.5, 2.0, 4.0])
def test_the_last_level_loses_the_lines_that_random_replacement_loses(ratio: float) -> None:
    """A simulated cache of 512 lines, read again and again from end to end."""
    generator, capacity = np.random.default_rng(0), 512
    lines = int(ratio * capacity)
    holds, where, misses = [-1] * capacity, dict[int, int](), 0
    for run in range(60):
        for line in range(lines):
            if line not in where:
                slot = len(where) if len(where) < capacity else int(generator.integers(capacity))
                where.pop(holds[slot], None)
                holds[slot], where[line] = line, slot
                misses += run >= 30
    assert misses / (30 * lines) == pytest.approx(evicted_share(lines / capacity), abs=0.02)


def test_lines_barely_above_the_capacity_stay() -> None:
    """s = 2 e for r = 1 + e, to first order."""
    assert 2e-3 == pytest.approx(evicted_share(1.001), rel=0.01)


def test_vectors_of_work_items_take_one_written_out_row_after_another() -> None:
    """Sums of 16 cells, one every 16 KiB, in groups of 64; all in one set of the first level with eight ways."""
    unit = make("{ [i, r]: 0 <= i < n and 0 <= r < 16 }", "out[i] = sum(r, a[i + 4096*r])", "a: n + 61440; out: n",
                assumes="n mod 64 = 0 and n >= 64")  # fmt: skip
    unit = lp.split_iname(unit, "i", 64, outer_tag="g.0", inner_tag="l.0")
    facts, n = {"l1_bytes": 32768, "l1_ways": 8}, 1024
    loop, flat = (
        quantities(count(tagged, cache=False), "serial", facts, n=n) for tagged in (unit, lp.tag_inames(unit, "r:unr"))
    )
    # item by item each line comes again for 15 of its 16 cells
    assert (16 * n * 15 / 16, 0) == (loop["again_loaded"], flat.get("again_loaded", 0))


@pytest.mark.parametrize(("lanes", "again"), [(32, 0), (128, 128 * 128 - 128 * 8)])
def test_rows_shorter_than_a_vector_run_one_item_after_another(lanes: int, again: int) -> None:
    """Work-items of groups of 64 add up columns of 128 cells: 64 lines of the cache do not hold a line of each row."""
    columns = kernel("[n] -> { [i, j]: 0 <= i, j < n }", "out[i] = sum(j, a[j, i])", "a: n, n; out: n")
    facts = {"vector_lanes": lanes, "l1_bytes": 4096, "l1_ways": 64}
    assert again == pytest.approx(quantities(columns, "lockstep", facts, n=128).get("again_loaded", 0.0))
