"""Predicted against measured times, and kernels below roofs, as plotly draws them."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from perfmodel.analyses.roofline import KernelPoint
from perfmodel.compare import Comparison, Comparisons
from perfmodel.report.html.figures import accuracy_plot, roofline_plot
from tests.report.html.reported import reported

ROOFS = {"memory_bandwidth_bytes_per_s": 1e11, "peak_flops_float32": 2e11, "local_bandwidth_bytes_per_s": 1e12}
POINT = KernelPoint("<k>", "form=a", "n=8", operations=1e9, bytes=1e8, seconds=1e-2, bound_s=5e-3, bound="compute")


def markers(plot) -> list[dict]:
    return [trace for trace in plot.specification["data"] if trace["mode"] == "markers"]


def with_cases(*cases: Comparison):
    return replace(reported(), comparisons=Comparisons(cases))


def test_cases_are_graded_by_their_factor():
    times = {"within 10 % (2)": (1.1, 1 / 1.1), "within 25 % (1)": (1.2,), "within a factor of 2 (1)": (0.5,),
             "further off (1)": (2.1,)}  # fmt: skip
    cases = [Comparison("k", {"n": 1}, 1.0, value) for values in times.values() for value in values]
    plot = accuracy_plot(with_cases(*cases))
    assert {name: list(values) for name, values in times.items()} == {one["name"]: one["y"] for one in markers(plot)}
    assert len({(one["marker"]["symbol"], one["marker"]["color"]) for one in markers(plot)}) == 4


def test_the_label_of_a_point_has_everything():
    case = Comparison("<k>", {"n": 8}, 2e-3, 1e-3, variant={"form": "a"}, interval=(5e-4, 2.5e-3))
    ((text, kernel),) = markers(accuracy_plot(with_cases(case)))[0]["customdata"]
    assert "<k>" == kernel
    assert [
        "&lt;k&gt;", "form=a", "n=8", "measured: 2 ms", "predicted: 1 ms", "error: 50.0 %",
        "90 % interval: 500 us to 2.5 ms",
    ] == text.split("<br>")  # fmt: skip


def test_what_cannot_be_drawn_is_left_out():
    withheld, negative = Comparison("k", {"n": 1}, 1.0, None, ("f",)), Comparison("k", {"n": 1}, 1.0, -1.0)
    assert accuracy_plot(with_cases(withheld, negative)) is None
    plot = accuracy_plot(with_cases(withheld, Comparison("k", {"n": 1}, 1.0, 1.0)))
    assert 1 == sum(len(one["x"]) for one in markers(plot))


def test_roofs_meet_and_kernels_lie_where_they_should():
    """1e9 operations for 1e8 bytes in 10 ms: 10 operations for each byte, 1e11 in a second."""
    plot = roofline_plot("roofline", [POINT], ROOFS, False)
    (found,) = markers(plot)
    assert ([10.0], [1e11]) == (found["x"], found["y"])
    memory, peak = (trace for trace in plot.specification["data"] if trace["mode"] == "lines")
    assert {2e11} == set(peak["y"])
    sloped = [(x, y) for x, y in zip(memory["x"], memory["y"], strict=True) if y is not None]
    assert all(math.isclose(y, 1e11 * x) for x, y in sloped)
    assert math.isclose(2.0, max(x for x, _ in sloped))  # 2e11 operations at 1e11 bytes in a second
    assert math.isclose(0.5, min(x for x, _ in sloped))
    assert "50.0 % of what the roofs allow" in found["customdata"][0][0]


@pytest.mark.parametrize(("points", "roofs"), [([], ROOFS), ([POINT], {}), ([replace(POINT, operations=0.0)], ROOFS)])
def test_without_roofs_or_points_there_is_no_plot(points, roofs):
    assert roofline_plot("roofline", points, roofs, True) is None
