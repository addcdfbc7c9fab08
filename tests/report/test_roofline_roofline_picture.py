"""The picture of the roofline: axes, roofs, markers and labels."""

from __future__ import annotations

import itertools

import pytest

from perfmodel.errors import OutputError
from perfmodel.facts import DeviceFacts, Fact
from perfmodel.report.drawing import overlap
from perfmodel.report.roofline import picture_roofline, roofline_figure
from tests.cli.test_compare_roofline import document
from tests.fitting.test_throughput_roofs import BANDWIDTH, PEAK, facts
from tests.report.test_roofline import POINTS, ROOFS, point


def texts(axes):
    return [text for text in axes.texts if text.get_text()]


def glyphs(text, renderer):
    """The box of a text but for a pixel of air round it."""
    box = text.get_window_extent(renderer)
    return (box.x0 + 1, box.y0 + 1, box.x1 - 1, box.y1 - 1)


def check_no_overlap(figure):
    figure.canvas.draw()
    renderer = figure.canvas.get_renderer()
    for axes in figure.axes:
        found = [(text.get_text(), glyphs(text, renderer)) for text in texts(axes)]
        assert not [(one[0], two[0]) for one, two in itertools.combinations(found, 2) if overlap(one[1], two[1])]


def test_the_picture_has_a_number_for_each_point_on_it_and_all_in_the_key():
    figure = roofline_figure(POINTS, facts(**ROOFS), "toy")
    picture, key = figure.axes
    assert ["1", "2", "3"] == [text.get_text() for text in texts(picture)]
    said = " ".join(text.get_text() for text in texts(key))
    for words in ("move  (no operations: not drawn)", "50 % of memory", "4 Top/s", "200 GB/s", "3 TB/s"):
        assert words in said
    check_no_overlap(figure)


def test_axes_are_logarithmic_and_have_units():
    picture, _ = roofline_figure(POINTS, facts(**ROOFS), "toy").axes
    assert ("log", "log", "toy") == (picture.get_xscale(), picture.get_yscale(), picture.get_title(loc="left"))
    assert "operational intensity [floating-point operations / byte of global memory]" == picture.get_xlabel()
    assert "performance [floating-point operations / s]" == picture.get_ylabel()


def markers(axes):
    """The places of the filled markers, measured rates, and of the open ones, attainable rates."""
    found = {True: [], False: []}
    for line in axes.lines:
        if line.get_marker() not in ("None", "") and len(line.get_xdata()):
            found[line.get_markerfacecolor() != "white"].append((line.get_xdata()[0], line.get_ydata()[0]))
    return found[True], found[False]


def test_measured_rates_are_filled_and_attainable_rates_open():
    picture, _ = roofline_figure(POINTS, facts(**ROOFS), "toy").axes
    # 1e9 operations in 10 and 7 ms at 10 op/B, 1e8 operations in 10 ms at 1/4 op/B; each could take 5 ms.
    measured, attainable = markers(picture)
    assert [(10, 1e11), (10, 1e9 / 7e-3), (0.25, 1e10)] == [pytest.approx(place) for place in measured]
    assert [(10, 2e11), (10, 2e11), (0.25, 2e10)] == [pytest.approx(place) for place in attainable]


def test_roofs_are_lines_at_their_values():
    picture, _ = roofline_figure(POINTS, facts(**ROOFS), "toy").axes
    roofs = [line for line in picture.lines if line.get_color() == "0.25"]
    # two peaks, what float32 reaches without multiply-adds, and global memory; local memory has no line over this axis
    assert 4 == len(roofs)
    slopes = [line.get_ydata()[0] / line.get_xdata()[0] for line in roofs if line.get_ydata()[0] != line.get_ydata()[1]]
    assert [BANDWIDTH] == pytest.approx(slopes)
    peaks = {line.get_ydata()[0] for line in roofs if line.get_ydata()[0] == line.get_ydata()[1]}
    assert {PEAK, PEAK / 2, PEAK / 4} == peaks


@pytest.mark.parametrize(
    ("known", "lines"), [({}, 0), ({"peak_flops_float32": PEAK}, 2), ({"memory_bandwidth_bytes_per_s": BANDWIDTH}, 1)]
)
@pytest.mark.parametrize("points", [POINTS, ()])
def test_a_picture_can_lack_roofs_and_points(known, lines, points):
    picture, _ = roofline_figure(points, facts(**known), "toy").axes
    assert lines == sum(line.get_color() == "0.25" for line in picture.lines)
    assert sum(point.drawable for point in points) == len(markers(picture)[0])


def test_a_picture_that_cannot_be_written(tmp_path):
    with pytest.raises(OutputError):
        picture_roofline(POINTS, facts(**ROOFS), tmp_path, "toy")  # a folder


def test_no_label_of_the_committed_picture_lies_on_another():
    points = [
        point(one["kernel"], one["variant"], one["sizes"], one["operations"], one["bytes"], one["seconds"],
              one["share"] * one["seconds"], one["bound"])
        for one in document()["kernels"]
    ]  # fmt: skip
    told = {key: Fact(one["value"], one["unit"], one["source"]) for key, one in document()["roofs"].items()}
    check_no_overlap(roofline_figure(points, DeviceFacts.from_mapping("toy", "none", "0", told), "toy"))
