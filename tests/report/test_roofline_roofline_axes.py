"""Roofs and kernels on axes of the caller's."""

from __future__ import annotations

import pytest

import perfmodel as pm
from perfmodel.errors import OptionError
from perfmodel.fitting.device_folder import measured_folder
from perfmodel.report.drawing import style
from perfmodel.report.roofline import plot_roofline, styles_of
from tests.fitting.test_throughput_roofs import facts
from tests.recorded import POCL
from tests.report.drawn import check_legible, labels, new_axes
from tests.report.test_roofline import POINTS, ROOFS
from tests.report.test_roofline_roofline_picture import markers


def test_points_and_roofs_with_their_values_in_the_legend():
    drawn = plot_roofline(POINTS, new_axes(), facts=facts(**ROOFS), title="toy")
    assert ("log", "log", "toy") == (drawn.get_xscale(), drawn.get_yscale(), drawn.get_title())
    assert [
        "peak, float32: 4 Top/s", "peak, float64: 1 Top/s", "global memory: 200 GB/s",
        "local memory (no line over this axis): 3 TB/s",
    ] == labels(drawn)[:4]  # fmt: skip
    assert "move (no operations: not drawn)" in labels(drawn)
    measured, attainable = markers(drawn)
    # 1e9 operations in 10 and 7 ms at 10 op/B, 1e8 operations in 10 ms at 1/4 op/B; each could take 5 ms.
    assert [(10, 1e11), (10, 1e9 / 7e-3), (0.25, 1e10)] == [pytest.approx(place) for place in measured]
    assert [(10, 2e11), (10, 2e11), (0.25, 2e10)] == [pytest.approx(place) for place in attainable]


def test_kernels_differ_in_marker_or_colour():
    found = styles_of(POINTS)
    assert list(dict.fromkeys(point.kernel for point in POINTS)) == list(found)
    assert [style(place) for place in range(len(found))] == list(found.values())


def test_without_a_roof_the_legend_says_so():
    assert "no roof is known" in labels(plot_roofline(POINTS, new_axes()))
    assert "peak, float32: 4 Top/s" in labels(plot_roofline((), new_axes(), facts=facts(**ROOFS)))
    with pytest.raises(OptionError, match="neither a known roof nor a kernel"):
        plot_roofline((), new_axes())


@pytest.mark.slow
def test_measurements_are_drawn_at_their_largest_sizes_and_nothing_overlaps():
    _, tests = measured_folder(POCL)
    drawn = pm.plot.roofline(tests, title=tests.device)
    variants = {(row.kernel, str(row.variant)) for row in tests if not row.kernel.startswith("transpose")}
    assert len(variants) == len([line for line in drawn.lines if line.get_markersize() == 6.5 and len(line.get_xdata())
                                 and line.get_markerfacecolor() != "white"])  # fmt: skip
    check_legible(drawn)
