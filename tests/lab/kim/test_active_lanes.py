"""Active lanes of kernels, lane by lane by brute force."""

from collections import Counter
from collections.abc import Callable, Collection

import loopy as lp
import numpy as np
import pytest

from perfmodel.counts import KernelCounts, count
from scripts.lab.kim.active_lanes import ActiveLanes, active_lanes
from scripts.lab.kim.work_flow import work_flow

LANES = 8
ITEMS = {"g": "g.0", "i": "l.0"}


def counted(domain: str, code: str, tags: dict[str, str], statistics: dict[str, float] | None = None) -> KernelCounts:
    unit = lp.make_kernel(domain, code, assumptions="n >= 1", lang_version=(2018, 2), name="made_up")
    unit = lp.tag_inames(lp.add_dtypes(unit, {"x": np.float32}), tags)
    return count(unit, LANES, statistics=statistics, cache=False)


def rows_of(counts: KernelCounts, **sizes: int) -> list[ActiveLanes]:
    return [row for row in active_lanes(counts, work_flow(counts, sizes), sizes) if row is not None]


def brute(
    groups: int, size: int, executed: Callable[[int, int], Collection[int]]
) -> tuple[int, int, tuple[float, ...]]:
    """Executions by work-items, by sub-groups, and each lane's share.

    A work-item executes a set of trips; its sub-group executes each trip that one of its lanes does.
    """
    by_lane: Counter[int] = Counter()
    by_subgroups = 0
    for group in range(groups):
        for first in range(0, size, LANES):
            trips = {k % LANES: {*executed(group, k)} for k in range(first, min(first + LANES, size))}
            by_subgroups += len(set().union(*trips.values()))
            by_lane.update({lane: len(made) for lane, made in trips.items()})
    return sum(by_lane.values()), by_subgroups, tuple(by_lane[lane] / by_subgroups for lane in range(LANES))


def check(rows: list[ActiveLanes], expected: tuple[int, int, tuple[float, ...]]) -> None:
    """Each row has one instruction at each instance."""
    items, subgroups, shares = expected
    for row in rows:
        assert (items, subgroups, "") == (row.by_items, row.by_subgroups, row.unknown)
        assert list(shares) == pytest.approx(list(row.shares))
        assert pytest.approx(sum(shares) / LANES) == row.utilization
        assert LANES * subgroups - items == row.idle


@pytest.mark.parametrize("n", [37, 48])
def test_a_triangle(n: int) -> None:
    counts = counted(
        "{ [g, i, j]: 0 <= i < 16 and 0 <= 16*g + i < n and 0 <= j <= 16*g + i }", "y[16*g + i, j] = x[j] + 1",
        ITEMS,
    )  # fmt: skip
    rows = rows_of(counts, n=n)
    assert 3 == len(rows)
    check(rows, brute(-(-n // 16), 16, lambda g, i: range(16 * g + i + 1) if 16 * g + i < n else ()))
    assert [number(n=n) for number in counts.executions] == [
        sum(getattr(row, name) for row in rows) for name in ("by_items", "by_subgroups")
    ]


@pytest.mark.parametrize(("size", "share"), [(6, 6 / 8), (12, 12 / 16), (16, 1)])
def test_a_partly_filled_sub_group_has_idle_lanes(size: int, share: float) -> None:
    made = counted(f"{{ [g, i]: 0 <= g < n and 0 <= i < {size} }}", "y[g, i] = x[g]", ITEMS)
    rows = rows_of(made, n=5)
    check(rows, brute(5, size, lambda *_: [0]))
    assert [share, share] == [row.utilization for row in rows]


def test_what_a_test_of_data_lets_through_is_a_least_share_where_its_probability_is_known() -> None:
    code = "<> t = x[8*g + i]\nif t > 0\n y[8*g + i] = 2*t\nend"
    made = "{ [g, i]: 0 <= g < n and 0 <= i < 8 }", code, ITEMS
    load, *guarded = rows_of(counted(*made, {"t > 0": 0.25}), n=4)
    assert (1, False) == (load.utilization, load.at_least)
    assert {(8.0, 4.0, 0.25, (0.25,) * 8, True)} == {
        (row.by_items, row.by_subgroups, row.utilization, row.shares, row.at_least) for row in guarded
    }
    assert {"the probability of 't > 0' is not known"} == {row.unknown for row in rows_of(counted(*made), n=4)[1:]}
