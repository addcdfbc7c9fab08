"""The conditions of a balanced computation, by hand on a toy device: an instruction is issued in a second."""

from __future__ import annotations

import pytest

from perfmodel.counts import KernelCounts, count
from perfmodel.facts import DeviceFacts, Fact
from perfmodel.quantities.case import Case
from scripts.lab.kim.active_lanes import ActiveLanes, active_lanes
from scripts.lab.kim.balanced import Conditions, conditions
from scripts.lab.kim.work_flow import timeline, work_flow
from tests.lab.kim.test_work_flow import ISSUE, TOY, counted, tile_of_every_second_word

FACTS = {"compute_units": 2.0, "memory_bandwidth_bytes_per_s": 1.0}


def judged(
    counts: KernelCounts, sizes: dict[str, int], lanes: list[ActiveLanes] | None = None, line: int = 128, **facts: float
) -> Conditions:
    device = DeviceFacts.from_mapping("toy", "", "", {key: Fact(value, "", "test") for key, value in facts.items()})
    graph = work_flow(counts, sizes, line)
    lanes = lanes or active_lanes(counts, graph, sizes)
    return conditions(graph, timeline(graph, TOY), lanes, Case(counts, sizes, device), TOY)


def test_enough_sub_groups_and_a_memory_as_fast_as_the_units_are_balanced() -> None:
    """A load, an addition and a store wait 399 s and 9 s: 137 sub-groups hide that. 300 on two units issue 3 s each."""
    counts, sizes = counted("{[i]: 0 <= i < n}", "y[i] = x[i] + 1"), {"n": 300 * 32}
    rate = 300 * 32 * 8 / 450
    found = judged(counts, sizes, compute_units=2, memory_bandwidth_bytes_per_s=rate)
    assert Conditions(0.0, 0.0, 0.0, 450.0, pytest.approx(450.0)) == found
    assert (True, ()) == (found.balanced, found.hindrances)
    slower = judged(counts, sizes, compute_units=2, memory_bandwidth_bytes_per_s=rate / 2)
    assert (False, ("computing takes 450 s, moving the data 900 s",)) == (slower.balanced, slower.hindrances)
    few = judged(counts, sizes, compute_units=2, memory_bandwidth_bytes_per_s=rate, max_groups_per_unit=100)
    assert 1 - 100 / 137 == pytest.approx(few.data)
    assert ("27.0 % of the time no sub-group hides the waits",) == few.hindrances
    idle = judged(counts, sizes, [ActiveLanes(16.0, 1.0, (1.0,) * 16 + (0.0,) * 16)], compute_units=2,
                  memory_bandwidth_bytes_per_s=rate)  # fmt: skip
    assert ("50.0 % of the lanes are idle",) == idle.hindrances


def test_bank_conflicts_are_a_hazard_and_transactions_are_none() -> None:
    """Eight transactions of x, two turns of each access to local memory, two transactions of y; memory is ideal.

    No barrier is needed, as each lane reads what it wrote.
    """
    counts = count(tile_of_every_second_word(), 32, cache=False)
    found = judged(counts, {"n": 2}, line=64, **FACTS)
    assert pytest.approx(2 / (8 + 2 + 2 + 2)) == found.structural
    assert ISSUE + 2 + 2 + ISSUE == found.compute_s
