"""The picture of a work flow graph and its text for Graphviz."""

from __future__ import annotations

import pytest

from measurement_kernels import matmul_tiled
from perfmodel.counts import count
from scripts.lab.kim.active_lanes import ActiveLanes
from scripts.lab.kim.pictures import work_flow_figure
from scripts.lab.kim.work_flow import WorkFlow, timeline, work_flow
from tests.lab.kim.test_work_flow import TOY


@pytest.fixture(scope="module")
def graph() -> WorkFlow:
    return work_flow(count(matmul_tiled.KERNEL.build()), dict.fromkeys(("l", "m", "n"), 64))


def test_a_heat_map_shows_the_lanes_active_in_each_node(graph: WorkFlow) -> None:
    """The first of four lanes is active half of the time; unknown lanes are hatched, a barrier has none."""
    lanes: list[ActiveLanes | None] = [None] * len(graph.nodes)
    lanes[2:4] = ActiveLanes(2.0, 4.0, (0.5, 0.0, 0.0, 0.0)), ActiveLanes(0.0, 0.0, (0.0,) * 4, unknown="data decide")
    for time, panels in ((None, 2), (timeline(graph, TOY), 3)):
        axes = work_flow_figure(graph, time, lanes).axes
        assert panels == len(axes)
        (cells,) = axes[-1].collections
        assert [0.5, 0, 0, 0] == cells.get_array().ravel().tolist()
        assert [2 - 0.31, 3 - 0.31] == pytest.approx([patch.get_y() for patch in axes[-1].patches])
        assert [None, "///"] == [patch.get_hatch() for patch in axes[-1].patches]
        assert [" 12.5 %", " unknown"] == [text.get_text() for text in axes[-1].texts]
        assert "lanes active: 12.5 %" == axes[-1].get_title()
        assert axes[0].get_ylim() == axes[-1].get_ylim()
