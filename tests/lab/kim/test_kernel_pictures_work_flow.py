"""The picture of a work flow graph and its text for Graphviz."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from measurement_kernels import matmul_tiled
from perfmodel.counts import count
from perfmodel.display import seconds_text
from perfmodel.errors import PerfModelError
from scripts.lab.kim.active_lanes import ActiveLanes
from scripts.lab.kim.pictures import MOST_ROWS, dot_text, draw_work_flow, lanes_rows, merged, title, work_flow_figure
from scripts.lab.kim.work_flow import WorkFlow, timeline, work_flow
from tests.lab.kim.test_work_flow import TOY, counted


@pytest.fixture(scope="module")
def graph() -> WorkFlow:
    return work_flow(count(matmul_tiled.KERNEL.build()), dict.fromkeys(("l", "m", "n"), 64))


@pytest.mark.parametrize(("suffix", "start"), [(".png", b"\x89PNG"), (".svg", b"<?xml"), (".dot", b"digraph")])
def test_a_picture_is_written_in_the_format_of_its_name(
    graph: WorkFlow, tmp_path: Path, suffix: str, start: bytes
) -> None:
    path = tmp_path / f"graph{suffix}"
    draw_work_flow(graph, path)
    assert path.read_bytes().startswith(start)


def test_the_picture_has_each_node_arc_and_loop(graph: WorkFlow) -> None:
    (axes,) = work_flow_figure(graph).axes
    written = [text.get_text() for text in axes.texts]
    assert [title(node) for node in graph.nodes] == [text for text in written if text in set(map(title, graph.nodes))]
    assert {"k_outer: 4 times", "k_inner: 16 times"} <= set(written)
    data = [arc.label for arc in merged(graph)]
    assert sorted(data) == sorted(text for text in written if text in data)
    # A box for each node and a frame for each loop; a line for each data dependence and each jump back.
    jumps = [arc for arc in graph.transitions if arc[2]]
    assert (len(graph.nodes) + 2, len(data) + len(jumps)) == (len(axes.patches), len(axes.lines))
    arrows = [text for text in axes.texts if getattr(text, "arrow_patch", None) is not None]
    assert len(graph.transitions) + len(data) == len(arrows)
    assert not [line for line in axes.lines if line.get_color() == "#c00000"]


def test_a_timeline_adds_bars_and_the_critical_path(graph: WorkFlow) -> None:
    time = timeline(graph, TOY)
    axes, bars = work_flow_figure(graph, time).axes
    issued, stalled = bars.containers
    assert list(time.issued) == pytest.approx([bar.get_width() for bar in issued])
    assert list(time.stalled) == pytest.approx([bar.get_width() for bar in stalled])
    assert ["issues", "waits"] == [text.get_text() for text in bars.get_legend().get_texts()]
    assert f"alone: {seconds_text(time.seconds)}" == bars.get_title()
    assert [line for line in axes.lines if line.get_color() == "#c00000"]


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


def test_the_table_of_lanes_has_the_nodes_with_most_idle_lanes(graph: WorkFlow) -> None:
    full, half = ActiveLanes(8.0, 2.0, (1.0,) * 4), ActiveLanes(2.0, 1.0, (1.0, 1.0, 0.0, 0.0), at_least=True)
    rows = lanes_rows(graph, [half, None, full])
    assert ("step", "statement", "by work-items", "by sub-groups", "lanes active") == rows[0]
    assert [("2", "1", "at least 50.0 %"), ("8", "2", "100.0 %")] == [row[2:] for row in rows[1:-1]]
    assert ("all 2 known", "", "10", "3", "at least 83.3 %") == rows[-1]
    many = replace(graph, nodes=(graph.nodes * 2)[:MOST_ROWS + 1])
    assert ["2"] * MOST_ROWS == [row[2] for row in lanes_rows(many, [full, *[half] * MOST_ROWS])[1:-1]]
    unknown = ActiveLanes(0.0, 0.0, (0.0,) * 4, unknown="data decide")
    assert [("-", "-", "unknown")] * 2 == [row[2:] for row in lanes_rows(graph, [None, unknown])[1:]]
    assert "all 0 known" == lanes_rows(graph, [None, unknown])[-1][0]


def test_text_names_every_node_and_arc(graph: WorkFlow) -> None:
    text = dot_text(graph)
    assert len(graph.nodes) == text.count("fillcolor=")
    assert len(graph.transitions) + len(graph.dependences) == text.count("->")


def test_another_suffix_is_refused(tmp_path: Path) -> None:
    graph = work_flow(counted("{[i]: 0 <= i < n}", "y[i] = x[i]"), {"n": 64})
    with pytest.raises(PerfModelError, match="is not a picture"):
        draw_work_flow(graph, tmp_path / "graph.jpg")
