"""Hit rates against closed forms."""

from __future__ import annotations

from collections import OrderedDict

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from perfmodel.counts import count
from scripts.lab.kim.memory_hierarchy import CacheShape, Hierarchy, drawn_order, hit_rates, hits
from scripts.lab.kim.trace import trace
from tests.corpus import kernels
from tests.lab.kim.traced_kernels import counted, streaming

FLOAT = np.float32
LINE = 64
SMALL, LARGE = CacheShape(1024, LINE, 2), CacheShape(1 << 22, LINE, 16)
pytestmark = [
    pytest.mark.filterwarnings("ignore::loopy.diagnostic.LoopyWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


def test_an_order_keeps_what_the_program_orders() -> None:
    (kernel,) = (kernel for kernel in kernels() if kernel.name == "matmul_tiled_16")
    (one,) = trace(count(kernel.build(), 32), {"n": 64}, 8)
    order = drawn_order(one, 2, 2, np.random.default_rng(1))
    assert list(range(len(one))) == sorted(order.tolist())
    for group in range(len(one.groups)):
        mine = order[one.group[order] == group]
        assert (np.diff(one.phase[mine]) >= 0).all()
        for number in set(one.subgroup.tolist()):
            assert (np.diff(mine[one.subgroup[mine] == number]) > 0).all()
    early, late = (np.flatnonzero(np.isin(one.group[order], groups)) for groups in ((0, 1, 2, 3), (4, 5, 6, 7)))
    assert early.max() < late.min()  # two groups on each of two units, then the next


def test_a_stream_misses_once_a_line() -> None:
    """Each line is requested once by a sub-group of 32 floats and lines of 64 B: nothing hits."""
    rates = hit_rates(streaming(), {"n": 64 * 64}, Hierarchy(SMALL, LARGE))
    assert (1.0, 1.0) == (rates.miss_ratio_l1, rates.miss_ratio_l2)


@pytest.mark.parametrize("repeats", [2, 5])
def test_a_row_read_again_hits_but_the_first_time(repeats: int) -> None:
    """1 - fetches/requests: of r loads of each line r - 1 hit, and the store's line is missed once."""
    counts = counted(
        f"{{[i,k]: 0 <= i < n and 0 <= k < {repeats}}}", "y[i] = sum(k, x[i])", ("i", 32, "g.0", "l.0"), x=FLOAT
    )
    rates = hit_rates(counts, {"n": 32 * 8}, Hierarchy(CacheShape(1 << 14, LINE, 4), LARGE, units=8, resident=1))
    assert pytest.approx(1 - 2 / (repeats + 1)) == np.mean(rates.l1)
    assert 1.0 == rates.miss_ratio_l2


def test_what_fits_the_caches_has_cold_misses_only() -> None:
    (kernel,) = (kernel for kernel in kernels() if kernel.name == "matmul_naive")
    counts = count(kernel.build(), 32)
    sizes = {"n": 32}
    shape = CacheShape(1 << 20, LINE, 16)
    rates = hit_rates(counts, sizes, Hierarchy(shape, shape, units=1, resident=64), groups=10**6, orders=3)
    (one,) = trace(counts, sizes, 10**6, LINE)
    distinct = sum(counts.lines(name, LINE, "launch", **sizes)(**sizes) for name in ("a", "b", "c"))
    assert distinct == len(np.unique(one.line))
    assert pytest.approx(distinct / rates.requests) == rates.miss_ratio_l1
    assert 1.0 == rates.miss_ratio_l2
    assert (0.0, 0.0) == (np.ptp(rates.l1), np.ptp(rates.l2))


def plain_hits(lines: list[int], shape: CacheShape) -> list[bool]:
    sets: list[OrderedDict[int, None]] = [OrderedDict() for _ in range(shape.sets)]
    found = []
    for line in lines:
        held = sets[line % shape.sets]
        found.append(line in held)
        held[line] = None
        held.move_to_end(line)
        if len(held) > shape.ways:
            held.popitem(last=False)
    return found


@settings(deadline=None, max_examples=200)
@given(st.lists(st.integers(0, 30), max_size=120), st.integers(1, 5), st.integers(1, 6))
def test_hits_are_those_of_a_plain_simulation(lines: list[int], sets: int, ways: int) -> None:
    shape = CacheShape(sets * ways * LINE, LINE, ways)
    assert plain_hits(lines, shape) == hits(np.array(lines, np.int64), shape).tolist()
