"""The roofline's table and document, from made-up points."""

from __future__ import annotations

import math

import pytest

from perfmodel.analyses.roofline import KernelPoint, roofline_points
from perfmodel.report.roofline import roofline_document, roofline_table
from tests.fitting.test_throughput_roofs import BANDWIDTH, LOCAL, PEAK, facts, measured

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
    assert "peak, float32: 4 Top/s (made up)" in text
    assert "_" not in text
    rows = [line.split() for line in text.splitlines() if line.startswith("product")]
    assert ["product", "naive", "n=8", "10", "100", "200", "50.0", "%", "memory"] == rows[0]
    assert 2 == len(rows)


def test_a_roof_that_other_facts_give():
    """32 banks of 15 units move 4 bytes at 1 GHz."""
    known = facts(banks=32, compute_units=15, clock_hz=1e9)
    assert "local memory: 1.92 TB/s (4 bytes of each bank in each cycle)" in roofline_table(POINTS, known)
    (roof,) = roofline_document(POINTS, known)["roofs"].values()
    assert (pytest.approx(1.92e12), "B/s") == (roof["value"], roof["unit"])
