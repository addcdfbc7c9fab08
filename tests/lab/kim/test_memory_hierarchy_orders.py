"""The order of requests is drawn anew at each level: against all orders, level by level, in plain Python."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from statistics import fmean

import numpy as np
import pytest

from scripts.lab.kim.memory_hierarchy import CacheShape, Hierarchy, hit_rates, traced_hit_rates
from scripts.lab.kim.trace import Trace
from tests.lab.kim.traced_kernels import counted

LINE = 64
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
