"""Pictures as plotly draws them."""

import math

import pytest

from perfmodel.report.drawing import Axis, Picture, Series
from perfmodel.report.html.figures import TICKS, grid_plot, plot, plotly_text
from perfmodel.report.pictures import error_grid


def figure(*series, low=1e-3, high=1.0):
    axis = Axis("time", limits=(low, high))
    return plot("a", Picture(axis, axis, series, "in words")).specification


def test_texts_are_escaped_and_broken():
    assert '&lt;a href="x"&gt;' == plotly_text('<a href="x">')
    assert "one two<br>three" == plotly_text("one\ntwo\nthree", 8)


@pytest.mark.parametrize(("low", "high"), [(1e-6, 1e3), (2e-3, 3e-2), (1.0, 1.3), (0.5e-5, 1.1e-5), (1e-15, 1e12)])
def test_ticks_lie_on_the_axis_and_are_not_many(low, high):
    axis = figure(low=low, high=high)["layout"]["xaxis"]
    first, last = axis["range"]
    assert 3 <= len(axis["tickvals"]) == len(axis["ticktext"]) <= 2 * TICKS
    assert all(first <= math.log10(tick) <= last for tick in axis["tickvals"])
    assert sorted(set(axis["tickvals"])) == axis["tickvals"]


def test_points_lines_and_intervals():
    points = Series(
        "<k>", [1.0], [2.0], "blue", "D", texts=["<k>\nn=8"], groups=["<k>"], band=([0.5], [3.0]), across=True,
    )  # fmt: skip
    found, line = figure(points, Series("", (1, 2), (1, 2), "muted", line="--"))["data"]
    assert ("&lt;k&gt;", [["&lt;k&gt;<br>n=8", "<k>"]]) == (found["name"], found["customdata"])
    assert ("diamond", "var(--blue)") == (found["marker"]["symbol"], found["marker"]["color"])
    assert ([2.0], [0.5]) == (found["error_x"]["array"], found["error_x"]["arrayminus"])
    assert ("dash", False) == (line["line"]["dash"], line["showlegend"])
    assert plot("a", None) is grid_plot("b", None) is None


def test_a_map_has_numbers_in_per_cent():
    made = grid_plot("families", error_grid(["good", "own<"], ["k", "all"], [(0.1, 0.2), (math.nan, 9.0)], "own<"))
    (trace,) = made.specification["data"]
    assert ([["10", "20"], ["-", "900"]], ["good", "<b>own&lt;</b>"]) == (trace["text"], trace["y"])
    assert trace["z"][1][0] is None
