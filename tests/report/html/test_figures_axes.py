"""Texts and logarithmic axes for plotly."""

from __future__ import annotations

import math

import pytest

from perfmodel.report.html.figures import TICKS, layout, log_axis, plotly_lines, plotly_text


def test_texts_are_escaped_and_broken():
    assert "&lt;a href=&quot;" not in plotly_text('<a href="x">')
    assert '&lt;a href="x"&gt;' == plotly_text('<a href="x">')
    assert "a &amp; b<br>c" == plotly_lines(("a & b", "", "c"))
    assert "one two<br>three" == plotly_text("one\ntwo\nthree", 8)


@pytest.mark.parametrize(
    ("low", "high"), [(1e-6, 1e3), (2e-3, 3e-2), (1.0, 1.05), (0.9e-5, 1.1e-5), (5.0, 5.0), (1e-15, 1e12)]
)
def test_ticks_lie_on_the_axis_and_are_not_many(low, high):
    axis = log_axis("time", (low, high), str)
    begin, end = axis["range"]
    assert begin < math.log10(low) <= math.log10(high) < end
    assert 3 <= len(axis["tickvals"]) <= 2 * TICKS
    assert all(begin <= math.log10(tick) <= end for tick in axis["tickvals"])
    assert sorted(set(axis["tickvals"])) == axis["tickvals"]
    assert [str(tick) for tick in axis["tickvals"]] == axis["ticktext"]


def test_ticks_are_evenly_apart_where_powers_of_ten_are_enough():
    """From 0.3 to 3,000 there are powers enough, though not at each second one."""
    assert [1.0, 10.0, 100.0, 1000.0] == log_axis("", (0.2, 5500.0), str)["tickvals"]


def test_an_axis_without_values_is_drawn_all_the_same():
    assert 3 <= len(log_axis("time", (0.0, math.inf), str)["tickvals"])


def test_a_legend_covers_nothing():
    shown = layout({}, {}, showlegend=False)
    assert ("h", 1.02, "bottom") == tuple(shown["legend"][key] for key in ("orientation", "y", "yanchor"))
    assert shown["xaxis"]["automargin"]
    assert shown["showlegend"] is False
