"""Frames of loops and lanes of arcs."""

from __future__ import annotations

from measurement_kernels import matmul_tiled
from perfmodel.counts import count
from scripts.lab.kim.pictures import frames, lanes, merged
from scripts.lab.kim.work_flow import timeline, work_flow
from tests.lab.kim.test_work_flow import TOY, counted


def test_frames_and_lanes() -> None:
    graph = work_flow(count(matmul_tiled.KERNEL.build()), dict.fromkeys(("l", "m", "n"), 64))
    assert [("k_outer", 1, 8, 0), ("k_inner", 7, 8, 1)] == [tuple(frame) for frame in frames(graph)]
    assert [2, 1, 0, 0] == lanes([(0, 9), (1, 5), (1, 2), (3, 4)])


def test_an_arc_is_labelled_with_its_variable_and_wait() -> None:
    # The load issues in 1 s and arrives after 400 s; the addition waits 399 s for it, issues in 1 s and has its
    # result after 10 s, so the store waits 9 s.
    graph = work_flow(counted("{[i]: 0 <= i < n}", "y[i] = x[i] + 1"), {"n": 64}, 128)
    assert ["x", "y"] == [arc.label for arc in merged(graph)]
    assert ["x\nwaits 399 s", "y\nwaits 9 s"] == [arc.label for arc in merged(graph, timeline(graph, TOY))]
