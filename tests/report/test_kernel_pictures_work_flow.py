"""The picture of a work flow graph and its text for Graphviz."""

from __future__ import annotations

from pathlib import Path

import pytest

from measurement_kernels import matmul_tiled
from perfmodel.analyses.work_flow import WorkFlow, timeline, work_flow
from perfmodel.counts import count
from perfmodel.display import seconds_text
from perfmodel.errors import PictureFormatError
from perfmodel.report.kernel_pictures import dot_text, draw_work_flow, merged, title, work_flow_figure
from tests.analyses.test_work_flow import TOY, counted


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


def test_text_names_every_node_and_arc(graph: WorkFlow) -> None:
    text = dot_text(graph)
    assert len(graph.nodes) == text.count("fillcolor=")
    assert len(graph.transitions) + len(graph.dependences) == text.count("->")


def test_another_suffix_is_refused(tmp_path: Path) -> None:
    graph = work_flow(counted("{[i]: 0 <= i < n}", "y[i] = x[i]"), {"n": 64})
    with pytest.raises(PictureFormatError, match="is no picture") as caught:
        draw_work_flow(graph, tmp_path / "graph.jpg")
    assert (".png", ".svg", ".dot") == caught.value.allowed
