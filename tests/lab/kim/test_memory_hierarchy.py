"""Hit rates against closed forms, and against all orders of requests in plain Python."""

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from itertools import combinations
from statistics import fmean

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from perfmodel.counts import count
from scripts.lab.kim.memory_hierarchy import CacheShape, Hierarchy, drawn_order, hit_rates, hits, traced_hit_rates
from scripts.lab.kim.trace import Trace, trace
from tests.corpus import kernels
from tests.lab.kim.test_trace import counted, streaming

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


#: The lines that two sub-groups of one work-group request, in their order.
FIRST, SECOND = (1, 1, 2, 3), (2, 3, 1, 2)
WAYS = 2

Request = tuple[int, int]


def merges(first: Sequence[Request], second: Sequence[Request]) -> Iterator[list[Request]]:
    """Yield all orders of two sequences that keep the order of each."""
    for places in combinations(range(len(first) + len(second)), len(first)):
        left, right = iter(first), iter(second)
        yield [next(left if place in places else right) for place in range(len(first) + len(second))]


def missed(order: Sequence[Request]) -> list[Request]:
    """Return the requests of an order that a cache of one set does not hold."""
    held: list[int] = []
    found = []
    for request in order:
        if request[1] in held:
            held.remove(request[1])
        else:
            found.append(request)
        held = [*held, request[1]][-WAYS:]
    return found


def test_the_misses_of_a_level_reach_the_next_in_any_order() -> None:
    """All 70 merges at the first level, and for each all merges of its misses at the second, equally likely.

    In the order of the first level 9 % of them would hit, not 28 %.
    """
    l1, l2, kept = [], [], []
    for order in merges([(0, line) for line in FIRST], [(1, line) for line in SECOND]):
        waiting = missed(order)
        l1.append(1 - len(waiting) / len(order))
        kept.append(1 - len(missed(waiting)) / len(waiting))
        parts = ([one for one in waiting if one[0] == number] for number in (0, 1))
        l2.append(fmean(1 - len(missed(again)) / len(again) for again in merges(*parts)))
    assert (fmean(l2), fmean(kept)) == pytest.approx((0.2755, 0.0876), abs=1e-4)
    requests = len(FIRST) + len(SECOND)
    zeros = np.zeros(requests, np.int64)
    one = Trace(
        "made_up", (0,), LINE, ("x",), (0,), zeros, np.repeat([0, 1], requests // 2), zeros,
        np.array([*FIRST, *SECOND]), zeros, zeros, access=zeros, sites=("load x in insn",),
    )  # fmt: skip
    cache = CacheShape(WAYS * LINE, LINE, WAYS)
    found = traced_hit_rates([one], Hierarchy(cache, cache, units=1), orders=1000)
    assert fmean(l1) == pytest.approx(np.mean(found.l1), abs=0.02)
    assert fmean(l2) == pytest.approx(np.mean(found.l2), abs=0.02)


def test_each_access_of_the_program_has_its_rates() -> None:
    """x[i] and x[i + 1] are one array, and two accesses: with room for all, one of them fetches, the other hits."""
    counts = counted(
        "{[i]: 0 <= i < n}", """
        for i
            <> first = x[i] {id=begin}
            <> second = x[i + 1] {id=next,dep=begin}
            y[i] = first + second {id=end,dep=next}
        end
        """, ("i", 32, "g.0", "l.0"), x=np.float32,
    )  # fmt: skip
    large = CacheShape(1 << 20, LINE, 16)
    rates = hit_rates(counts, {"n": 32}, Hierarchy(large, large, units=1), groups=1)
    named = {name: (first, memory) for name, first, memory in rates.by_access}
    assert ["load x in begin", "load x in next", "store y in end"] == list(named)
    assert (0.0, 1.0) == named["load x in begin"]  # two lines
    assert pytest.approx((2 / 3, 1 / 3)) == named["load x in next"]  # the same two, and one more
    (x, y) = rates.by_array
    assert ("x", pytest.approx(2 / 5), pytest.approx(3 / 5)) == x
    assert ("y", 0.0, 1.0) == y
