"""The roofline's table, document and picture, from made-up points and from the committed measurements."""

from __future__ import annotations

import itertools
import json
import math
from functools import cache
from pathlib import Path

import pytest
from typer.testing import CliRunner

from perfmodel.analyses.roofline import KernelPoint, roofline_points
from perfmodel.cli import application
from perfmodel.errors import OutputError
from perfmodel.facts import DeviceFacts, Fact
from perfmodel.report.label_places import box_around, label_places, overlap
from perfmodel.report.roofline import roofline_document, roofline_table
from perfmodel.report.roofline_picture import picture_roofline, roofline_figure
from tests.fitting.facts.test_roofs import BANDWIDTH, LOCAL, PEAK, facts, measured

DEVICE = Path(__file__).parents[2] / "fitted_weights" / "intel-xeon"
ROOFS = {
    "peak_flops_float32": PEAK, "peak_flops_float64": PEAK / 4, "memory_bandwidth_bytes_per_s": BANDWIDTH,
    "local_bandwidth_bytes_per_s": LOCAL,
}  # fmt: skip


def point(
    kernel="product", form="naive", sizes="n=8", operations=1e9, moved=1e8, seconds=1e-2, bound=5e-3, by="memory"
):
    return KernelPoint(kernel, form, sizes, operations, moved, seconds, bound, by)


POINTS = (
    point(), point(form="tiled", seconds=7e-3), point("sum", "", operations=1e8, moved=4e8),
    point("move", "", operations=0.0),
)  # fmt: skip


def test_a_roof_that_is_not_known_leaves_what_is_attainable_open():
    (first, *_) = roofline_points(measured())
    assert math.isnan(first.attainable)
    told = roofline_document([first], facts())
    assert {} == told["roofs"]
    assert None is told["kernels"][0]["attainable"] is told["kernels"][0]["share"]
    assert "no roofs are known" in roofline_table([first], facts())


def test_the_table_has_roofs_with_sources_and_a_row_for_each_point():
    text = roofline_table(POINTS, facts(**ROOFS))
    assert "peak_flops_float32: made up" in text
    rows = [line.split() for line in text.splitlines() if line.startswith("product")]
    assert ["product", "naive", "n=8", "10", "100", "200", "50.0", "%", "memory"] == rows[0]
    assert 2 == len(rows)


def test_labels_lie_beside_their_points_and_on_nothing_else():
    anchors = [(10.0 * (k % 3), 2.0 * (k // 3)) for k in range(12)]
    obstacles = [box_around(one, (1.0, 1.0)) for one in anchors]
    bounds = (-30.0, -30.0, 60.0, 60.0)
    boxes = [box_around(place, (3.0, 1.5)) for place in label_places(anchors, (3.0, 1.5), obstacles, bounds, 1.0)]
    assert not [pair for pair in itertools.combinations(boxes, 2) if overlap(*pair)]
    assert not [(box, one) for box in boxes for one in obstacles if overlap(box, one)]
    assert all(bounds[0] <= box[0] and box[3] <= bounds[3] for box in boxes)


def test_a_label_without_room_is_still_placed():
    wall = [(-100.0, -100.0, 100.0, 100.0)]
    assert 1 == len(label_places([(0.0, 0.0)], (1.0, 1.0), wall, (-5.0, -5.0, 5.0, 5.0), 1.0))


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
    for words in ("move  (no operations: not drawn)", "50 % of memory", "4e+03 Gop/s", "200 GB/s", "3e+03 GB/s"):
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
        if line.get_marker() not in ("None", ""):
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
    assert 3 == len(roofs)  # two peaks and global memory; local memory has no line over this axis
    slopes = [line.get_ydata()[0] / line.get_xdata()[0] for line in roofs if line.get_ydata()[0] != line.get_ydata()[1]]
    assert [BANDWIDTH] == pytest.approx(slopes)
    peaks = {line.get_ydata()[0] for line in roofs if line.get_ydata()[0] == line.get_ydata()[1]}
    assert {PEAK, PEAK / 4} == peaks


@pytest.mark.parametrize(
    ("known", "lines"), [({}, 0), ({"peak_flops_float32": PEAK}, 1), ({"memory_bandwidth_bytes_per_s": BANDWIDTH}, 1)]
)
@pytest.mark.parametrize("points", [POINTS, ()])
def test_a_picture_can_lack_roofs_and_points(known, lines, points):
    picture, _ = roofline_figure(points, facts(**known), "toy").axes
    assert lines == sum(line.get_color() == "0.25" for line in picture.lines)
    assert sum(point.drawable for point in points) == len(markers(picture)[0])


def test_a_picture_that_cannot_be_written(tmp_path):
    with pytest.raises(OutputError):
        picture_roofline(POINTS, facts(**ROOFS), tmp_path, "toy")  # a folder


# {{{ committed measurements


def run(*arguments):
    return CliRunner().invoke(application(), ["roofline", "--from", str(DEVICE), *arguments])


@cache
def document():
    return json.loads(run("--json").stdout)


def test_the_command_draws_the_committed_measurements(tmp_path):
    result = run("--out", str(tmp_path / "roofline.png"))
    assert 0 == result.exit_code, result.stderr
    assert b"\x89PNG" == (tmp_path / "roofline.png").read_bytes()[:4]
    assert "memory_bandwidth_bytes_per_s: measured, best median of" in result.stdout


def test_no_test_kernel_is_above_the_measured_roofs_by_much():
    shares = {one["kernel"]: one["share"] for one in document()["kernels"]}
    assert {"convolution", "matmul_variants", "nbody", "stencil"} <= set(shares)
    assert max(shares.values()) < 1.1
    assert min(shares.values()) > 0


def test_all_sizes_have_the_intensity_of_a_product():
    every = json.loads(run("--json", "--all-sizes").stdout)["kernels"]
    products = [one for one in every if one["kernel"] == "matmul_variants"]
    for one in products:
        n = int(one["sizes"].removeprefix("n="))
        assert pytest.approx(n / 6, rel=0.01) == one["operations_per_byte"]
    assert len(every) > len(document()["kernels"])


def test_no_label_of_the_committed_picture_lies_on_another():
    points = [
        point(one["kernel"], one["variant"], one["sizes"], one["operations"], one["bytes"], one["seconds"],
              one["share"] * one["seconds"], one["bound"])
        for one in document()["kernels"]
    ]  # fmt: skip
    told = {key: Fact(one["value"], one["unit"], one["source"]) for key, one in document()["roofs"].items()}
    check_no_overlap(roofline_figure(points, DeviceFacts.from_mapping("toy", "none", "0", told), "toy"))


# }}}
