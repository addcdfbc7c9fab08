"""What is found once for a kernel."""

from __future__ import annotations

import pytest

from perfmodel.quantities.bottleneck.plan import plan_of
from tests.counts.nests.test_nests import matmul
from tests.quantities.bottleneck.by_hand import copy, kernel, row_sums

pytestmark = [
    pytest.mark.filterwarnings("ignore::loopy.diagnostic.LoopyWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


def test_a_plan_is_made_once() -> None:
    counts = copy()
    assert plan_of(counts) is plan_of(counts)


def test_equal_counts_are_evaluated_once() -> None:
    plan = plan_of(copy())  # n items load and store n cells: all of them are one count
    (launch,) = plan.launches
    (nest,) = launch.nests
    assert len({nest.iterations, nest.box, nest.entries, *(access.count for access in nest.accesses)}) == 1
    texts = [(count.granularity, str(count)) for count in plan.counts]
    assert sorted(set(texts)) == sorted(texts)


def test_barriers_and_loops_of_a_launch() -> None:
    found = [(one.barriers, one.loops, one.items) for counts in (copy(), row_sums(), matmul())
             for one in plan_of(counts).launches]  # fmt: skip
    assert [(False, False, 64), (False, True, 64), (True, True, 256)] == found


def test_starts_a_constant_apart_are_one_stream() -> None:
    counts = kernel(
        "[n] -> { [i]: 0 <= i < n }", "out[i] = a[i] + a[i + 1] + a[i + n] + a[i + n + 7]", "a: 3*n; out: n"
    )
    assert 3 == plan_of(counts).launches[0].streams  # a near 0, a near n, out


@pytest.mark.parametrize(("trips", "written_out"), [(16, True), (17, False)])
def test_short_loops_of_constant_trips_are_written_out(trips: int, written_out: bool) -> None:
    counts = kernel(
        f"[n] -> {{ [i, j]: 0 <= i < n and 0 <= j < {trips} }}", "out[i] = sum(j, a[i, j])", f"a: n, {trips}; out: n"
    )
    (loop,) = [nest for nest in plan_of(counts).launches[0].nests if nest.loops]
    assert written_out is loop.written_out
