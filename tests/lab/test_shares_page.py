"""The picture of errors over the share of measurements: its curves and axes."""

from __future__ import annotations

import math

import pytest

from scripts.lab.shares import Point, Shares
from scripts.lab.shares_page import picture_shares, shares_figure


def points():
    return (
        Point(0.1, 12, 0.05, 0.5, 0.6, (0.4, 0.6, 0.8), 0.0),
        Point(0.25, 25, 0.2, 0.3, 0.4, (0.3, 0.4, math.inf), 0.0),
        Point(1.0, 100, 1.0, 0.2, 0.2, (0.2,), 0.0),
    )


@pytest.fixture(scope="module")
def found():
    return Shares(device="toy", rows=100, tests=7, points=points(), deviations={})


def test_a_panel_for_each_device(found):
    figure = shares_figure((found, found))
    assert ["toy", "toy"] == [axes.get_title() for axes in figure.axes]
    axes = figure.axes[0]
    assert "share of the configurations measured [%]" == axes.get_xlabel()
    assert "error by protocol A [1]" == axes.get_ylabel()
    assert (0, 1.5 * 0.5) == pytest.approx(axes.get_ylim())  # above the largest error of chosen rows


def test_the_curves_of_chosen_and_random_rows(found):
    (axes,) = shares_figure((found,)).axes
    by_label = {line.get_label(): (list(line.get_xdata()), list(line.get_ydata())) for line in axes.lines}
    assert ([12, 25, 100], [0.5, 0.3, 0.2]) == by_label["chosen"]
    assert ([10, 25, 100], [0.6, 0.4, 0.2]) == by_label["random, median"]
    assert [0.2, 0.2] == by_label["all 100: 20.0 %"][1]
    assert [0.24, 0.24] == pytest.approx(by_label["1.2 times that"][1])
    legend = [text.get_text() for text in axes.get_legend().get_texts()]
    assert ["all 100: 20.0 %", "1.2 times that", "random, middle half", "random, median", "chosen"] == legend


def test_the_picture_is_written(found, tmp_path):
    picture_shares((found,), tmp_path / "shares.png")
    assert b"\x89PNG" == (tmp_path / "shares.png").read_bytes()[:4]
