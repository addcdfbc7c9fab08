"""Loops that data bound: they go along neighbouring cells, or gather from anywhere."""

import pytest

from perfmodel.counts import KernelCounts, count
from tests.corpus.indirect import csr_product

pytestmark = pytest.mark.filterwarnings("ignore::loopy.diagnostic.LoopyWarning", "ignore::DeprecationWarning")

ROWS, TRIPS = 65536, 16


@pytest.fixture(scope="module")
def spmv() -> KernelCounts:
    """Products of a sparse matrix of 65536 rows of 16 values and a vector of 256 KiB."""
    return count(csr_product(64, "n >= 64 and n mod 64 = 0"), statistics={"j": TRIPS}, cache=False)


@pytest.mark.parametrize("order", ["serial", "lockstep"])
@pytest.mark.parametrize("array", ["values", "columns"])
def test_a_row_is_one_stream(spmv: KernelCounts, array: str, order: str) -> None:
    """16 values of 4 bytes are a line of 64."""
    lines = KernelCounts.from_json(spmv.to_json()).traffic(array, order=order)(n=ROWS)
    assert (ROWS, 0) == (lines.fetched, lines.jumps)


def test_a_gather_stays_where_the_cache_holds_what_is_touched_between_two_uses_of_a_line(spmv: KernelCounts) -> None:
    """The vector has 4096 lines, next to two streams: 512 lines hold an eighth of it at most, 16384 all."""
    gathers = {capacity: spmv.traffic("x", capacity=capacity)(n=ROWS).fetched for capacity in (2**15, 2**20)}
    assert ROWS * TRIPS * 7 / 8 <= gathers[2**15] < ROWS * TRIPS
    assert pytest.approx(ROWS * 4 // 64) == gathers[2**20]


def test_what_a_row_executes_is_in_no_comparison_of_lanes(spmv: KernelCounts) -> None:
    """Which lanes make more trips is not known: only the row's two ends and its sum are executed for sure."""
    by_items, by_subgroups = spmv.executions
    assert 3 * ROWS == by_items(n=ROWS) == spmv.subgroup_size * by_subgroups(n=ROWS)
