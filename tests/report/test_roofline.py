"""The roofline's table, document and picture, from made-up points and from the committed measurements."""

from __future__ import annotations

import itertools
import json
import math
from functools import cache
from pathlib import Path

import pytest
from typer.testing import CliRunner

from perfmodel.cli import application
from perfmodel.errors import OutputError
from perfmodel.facts import DeviceFacts, Fact
from perfmodel.report.label_places import box_around, label_places, overlap
from perfmodel.report.roofline import KernelPoint, largest, roofline_document, roofline_points, roofline_table
from perfmodel.report.roofline_picture import picture_roofline, roofline_figure
from perfmodel.store import Measurements
from tests.fitting.facts.test_roofs import BANDWIDTH, LOCAL, PEAK, SUM, TILE, facts, kernel, measured, row

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


def test_a_point_is_operations_over_bytes_and_seconds():
    one = point()
    assert (10.0, 1e11, 2e11, 0.5) == (one.intensity, one.rate, one.attainable, one.share)
    assert not point(operations=0.0).drawable
    assert math.inf == point(moved=0.0).intensity


def test_points_lie_under_the_lowest_roof():
    # 64 work-items add 16 numbers each of one that they load: 1024 operations and 512 bytes a group.
    add, tile = kernel(SUM), kernel(TILE, local=True)
    rows = (row(add, 1000, 1e-3, None, kernel="add"), row(tile, 1000, 1e-3, None, kernel="tile"))
    found = Measurements(rows, {one.hash: one.to_json() for one in (add, tile)}, facts=facts(**ROOFS))
    (one, other) = roofline_points(found)
    assert ("add", "n=1000", 2.0, "memory") == (one.kernel, one.sizes, one.intensity, one.bound)
    assert pytest.approx(min(PEAK, 2 * BANDWIDTH)) == one.attainable
    assert pytest.approx(1024e3 / 1e-3) == one.rate
    assert ("memory", pytest.approx(512e3 / BANDWIDTH)) == (other.bound, other.bound_s)
    (slow,) = roofline_points(
        Measurements(rows[1:], found.counts_documents, facts=facts(**{**ROOFS, "local_bandwidth_bytes_per_s": 1e9}))
    )
    assert ("local", pytest.approx(512e3 / 1e9)) == (slow.bound, slow.bound_s)


def test_a_roof_that_is_not_known_leaves_what_is_attainable_open():
    (first, *_) = roofline_points(measured())
    assert math.isnan(first.attainable)
    told = roofline_document([first], facts())
    assert {} == told["roofs"]
    assert None is told["kernels"][0]["attainable"] is told["kernels"][0]["share"]
    assert "no roofs are known" in roofline_table([first], facts())


def test_the_largest_sizes_are_the_last_of_each_variant():
    points = [point(sizes="n=8"), point(sizes="n=16"), point(form="tiled")]
    assert (points[1], points[2]) == largest(points)


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


@pytest.mark.parametrize("known", [{}, {"peak_flops_float32": PEAK}, {"memory_bandwidth_bytes_per_s": BANDWIDTH}])
def test_a_picture_can_lack_roofs_and_points(known):
    roofline_figure(POINTS, facts(**known), "toy")
    roofline_figure((), facts(**known), "toy")


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
