"""Points below the roofs, by hand."""

from __future__ import annotations

import math

import pytest

from perfmodel.analyses.roofline import largest, roof_values, roofline_points
from perfmodel.store import Measurements
from tests.fitting.test_throughput_roofs import BANDWIDTH, PEAK, SUM, TILE, facts, kernel, row
from tests.report.test_roofline import ROOFS, point


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


def test_the_largest_sizes_are_the_last_of_each_variant():
    points = [point(sizes="n=8"), point(sizes="n=16"), point(form="tiled")]
    assert (points[1], points[2]) == largest(points)


def test_roofs_are_the_known_facts():
    assert ROOFS == roof_values(facts(**ROOFS))
    assert {} == roof_values(facts())


def test_local_memory_whose_bandwidth_nobody_measured():
    """Each of 4 units moves 4 bytes a cycle from each of 32 banks."""
    numbers = {"banks": 32, "compute_units": 4, "clock_hz": 1e9}
    assert {"local_bandwidth_bytes_per_s": 5.12e11} == roof_values(facts(**numbers))
