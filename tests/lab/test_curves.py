"""Figures of studies: lines, points and stacked shares."""

from __future__ import annotations

import numpy as np

from scripts.lab.curves import Panel, Series, curves_figure, shares_figure
from tests.report.drawn import check_legible

MEASURED = Series("S_D = 8", (1, 2, 4), (3.0, 2.0, 1.0))
PANEL = Panel((MEASURED, Series("S_D = 8", (1, 4), (2.5, 1.5), "predicted")), "T", "time [s]", "one", ("log", "linear"))


def test_what_is_measured_and_predicted_of_one_thing_has_one_colour():
    (axes,) = curves_figure([PANEL], "figure 3").axes
    measured, predicted = axes.get_lines()
    np.testing.assert_array_equal(measured.get_xydata(), [(1, 3), (2, 2), (4, 1)])
    np.testing.assert_array_equal(predicted.get_xydata(), [(1, 2.5), (4, 1.5)])
    assert measured.get_color() == predicted.get_color()
    assert ("S_D = 8", "S_D = 8, predicted") == (measured.get_label(), predicted.get_label())
    assert ("log", "linear", "T", "time [s]") == (
        axes.get_xscale(), axes.get_yscale(), axes.get_xlabel(), axes.get_ylabel()
    )  # fmt: skip
    check_legible(axes)


def test_shares_are_stacked_and_small_ones_are_drawn_together():
    bars = {"E = 4": {"global": 2.0, "shared": 1.0, "barrier": 0.01}, "E = 8": {"global": 1.0, "launch": 0.02}}
    (axes,) = shares_figure(bars, "time [s]").axes
    heights = {c.get_label(): [(p.get_y(), round(p.get_height(), 9)) for p in c.patches] for c in axes.containers}
    assert {
        "global": [(0.0, 2.0), (0.0, 1.0)], "shared": [(2.0, 1.0), (1.0, 0.0)], "rest": [(3.0, 0.01), (1.0, 0.02)]
    } == heights  # fmt: skip
    assert 3 == len({patch.get_facecolor() for c in axes.containers for patch in c.patches[:1]})
    check_legible(axes)
