"""Shares of requests that caches miss, against caches that are simulated here, line by line."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import loopy as lp
import numpy as np
import pytest

from perfmodel.counts import KernelCounts, count
from perfmodel.facts import Fact, published
from perfmodel.quantities.case import Case
from perfmodel.quantities.traffic import fetched_lines, global_bytes, hit_waits, miss_ratios, moved_lines

C2050 = published("tesla-c2050")
LINE = 128


@cache
def row_sums():
    """Each of the work-items of a group adds up a row of 64 cells, two lines."""
    t_unit = lp.make_kernel(
        "{[i, k]: 0 <= i < n and 0 <= k < 64}", "out[i] = sum(k, a[i, k])",
        [lp.GlobalArg("a", np.float32, shape="n, 64"), ...], assumptions="n >= 64 and n mod 64 = 0",
        lang_version=(2018, 2),
    )  # fmt: skip
    return count(lp.split_iname(t_unit, "i", 64, outer_tag="g.0", inner_tag="l.0"), subgroup_size=32)


def case(n=256, **facts):
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
    held, misses = {}, 0
    for line in lines:
        misses += held.pop(line, None) is None
        held[line] = True
        if len(held) > capacity:
            del held[next(iter(held))]
    return misses


@pytest.mark.parametrize("l1_bytes", [1024, 8192, 16384])
@pytest.mark.parametrize("l2_bytes", [2**15, 2**22])
def test_miss_ratios_are_those_of_simulated_caches(l1_bytes, l2_bytes):
    """256 rows of 256 bytes; the last cache is small, or keeps all from run to run."""
    lines = list(lines_of(256))
    memory = 0 if l2_bytes == 2**22 else missed(lines, l2_bytes // LINE)
    found = miss_ratios(case(l1_bytes=l1_bytes, l2_bytes=l2_bytes), len(lines))
    expected = missed(lines, l1_bytes // LINE), min(memory, missed(lines, l1_bytes // LINE))
    assert pytest.approx([number / len(lines) for number in expected], rel=0.02) == list(found)


def test_groups_that_a_unit_holds_share_its_first_cache():
    one, eight = (miss_ratios(case(2**16, l1_bytes=2**14, max_groups_per_unit=groups), 2**22)[0] for groups in (1, 8))
    lines = list(lines_of(64))
    assert (missed(lines, 128), missed(lines, 16)) == pytest.approx((130, 64 * 64 + 2))
    assert pytest.approx(one * (64 * 64 + 2) / 130, rel=0.02) == eight


def test_sizes_at_once_and_one_by_one_miss_alike():
    sizes = np.array([64, 256, 4096])
    together = miss_ratios(case(sizes), 64.0 * sizes)
    for place, n in enumerate(sizes):
        assert pytest.approx([ratio[place] for ratio in together]) == list(miss_ratios(case(int(n)), 64.0 * n))


def test_the_lines_of_sizes_asked_again_are_kept(monkeypatch):
    """As they were computed, by another case too; another size, and arrays of sizes, are computed."""
    capacities = 16384, 2**20
    expected = fetched_lines(case(320), *capacities)
    assert expected == tuple(moved_lines(case(320), capacity).fetched for capacity in capacities)
    at_once = fetched_lines(replace(case(), parameters={"n": np.array([320, 384])}), *capacities)
    assert [number[0] for number in at_once] == list(expected)
    asked = []
    monkeypatch.setattr(KernelCounts, "traffic", lambda self, **given: asked.append(given) or 1 / 0)
    assert expected == fetched_lines(case(320, l1_bytes=1), *capacities)
    assert [] == asked
    with pytest.raises(ZeroDivisionError):
        fetched_lines(case(448), *capacities)


def test_facts_replace_what_is_computed_and_multiply():
    assert (0.25, 0.125) == miss_ratios(case(l1_miss_ratio=0.25, l2_miss_ratio=0.5), 1.0)
    unknown = tuple(fact for fact in C2050.facts if fact[0] not in ("l1_bytes", "l2_bytes", "cache_bytes"))
    bare = Case(row_sums(), {"n": 64}, replace(C2050, facts=unknown), "gpuperf")
    assert (1, 1) == miss_ratios(bare, 4096.0)  # no size is known


def test_hit_latencies_of_both_levels():
    assert 1 + 0.25 * 4 == hit_waits(case(l1_load_s=1e-8, l2_load_s=4e-8), 0.25)
    assert 1 + 0.25 * 5 == hit_waits(case(l1_load_s=1e-8, l2_load_s=4e-8, l2_latency_s=5e-8), 0.25)
    assert 1 == hit_waits(case(l2_latency_s=4e-8), 0.25)  # of one the latency is not known


@pytest.mark.parametrize("on_chip", [1024, 8192, 2**20])
def test_a_finite_z_moves_what_a_cache_of_its_size_moves(on_chip):
    """Kim et al. (2012), section 2.3: Q(n; Z, L); rows that do not fit are loaded again for each of their cells."""
    found = global_bytes(case(on_chip_bytes=on_chip))
    assert pytest.approx(LINE * missed(lines_of(256), on_chip // LINE), rel=0.02) == found
    if on_chip == 2**20:
        assert found == global_bytes(case())  # as without a limit
