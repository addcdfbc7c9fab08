"""The picture of predicted against measured times: its axes, points and legend."""

from __future__ import annotations

from dataclasses import replace

import pytest

import perfmodel as pm
from perfmodel.compare import Evaluation
from perfmodel.errors import OutputError
from perfmodel.report.drawing import empty_figure
from perfmodel.report.plots import picture_predicted_measured, plot_predicted_vs_measured
from tests.compare.test_comparison_errors import ROWS
from tests.report.drawn import check_legible, labels, new_axes


def predicted_measured_figure(rows, title):
    figure = empty_figure(8.0, 5.4)
    plot_predicted_vs_measured(rows, figure.add_subplot(), title=title)
    return figure


def test_axes_are_logarithmic_and_equal():
    (axes,) = predicted_measured_figure(ROWS, "a title").axes
    assert ("log", "log", "a title") == (axes.get_xscale(), axes.get_yscale(), axes.get_title())
    assert ("measured time [s]", "predicted time [s]") == (axes.get_xlabel(), axes.get_ylabel())
    assert axes.get_xlim() == axes.get_ylim() == (5e-4, 32e-3)  # half the shortest and twice the longest time


def test_each_kernel_has_its_points_and_the_withheld_row_has_none():
    (axes,) = predicted_measured_figure(ROWS, "a title").axes
    diagonal, *kernels = axes.lines
    assert list(diagonal.get_xdata()) == list(diagonal.get_ydata())
    points = [list(zip(line.get_xdata(), line.get_ydata(), strict=True)) for line in kernels]
    assert [[(1e-3, 1.2e-3), (4e-3, 3.8e-3)], [(2e-3, 2e-3)]] == points
    assert 2 == len({line.get_marker() for line in kernels}) == len({line.get_color() for line in kernels})


def test_the_legend_gives_errors_and_what_is_not_drawn():
    legend = predicted_measured_figure(ROWS, "a title").axes[0].get_legend()
    assert "kernel (geometric-mean error)" == legend.get_title().get_text()
    # The geometric mean of 20 % and 5 % is 10 %; an exact prediction counts as 0.1 %.
    assert ["within a factor of 2", "predicted = measured", "stencil (10 %)", "matmul (0 %), 1 not drawn"] == [
        text.get_text() for text in legend.get_texts()
    ]


def test_it_is_drawn_on_the_axes_that_are_given():
    given = new_axes()
    assert given is plot_predicted_vs_measured(ROWS, given)
    assert "" == given.get_title()


def test_an_evaluation_is_drawn_as_its_rows():
    drawn = plot_predicted_vs_measured(Evaluation("A", "toy", "device", None, ROWS), new_axes())
    assert ["stencil (10 %)", "matmul (0 %), 1 not drawn"] == labels(drawn)[2:]


def test_nothing_overlaps():
    rows = [replace(row, kernel=f"kernel_{place}") for place in range(12) for row in ROWS]
    check_legible(pm.plot.predicted_vs_measured(rows, title="a title"))


@pytest.mark.parametrize(("rows", "kernels"), [((), []), (ROWS[3:], ["matmul, 1 not drawn"])])
def test_without_points_the_diagonal_is_still_drawn(rows, kernels):
    (axes,) = predicted_measured_figure(rows, "nothing").axes
    assert kernels == [text.get_text() for text in axes.get_legend().get_texts()][2:]
    assert 0 == sum(len(line.get_xdata()) for line in axes.lines[1:])


def test_the_file_is_a_png_in_a_new_folder(tmp_path):
    path = tmp_path / "new" / "picture.png"
    picture_predicted_measured(ROWS, path, "a title")
    assert path.read_bytes().startswith(b"\x89PNG")
    assert [path] == list(path.parent.iterdir())


def test_a_picture_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError):
        picture_predicted_measured(ROWS, tmp_path / "file" / "picture.png", "a title")
