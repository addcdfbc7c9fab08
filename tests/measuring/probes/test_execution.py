"""The two loops, and the blocks of lanes."""

from __future__ import annotations

import numpy as np
import pytest

from perfmodel.measuring.probes import execution
from tests.measuring.probes.devices import SHORT, content, instrument, stepped

pytestmark = pytest.mark.device


def test_each_lane_makes_its_trips_in_one_of_the_loops():
    kernel = instrument().kernel(execution.LANES_SOURCE, "-DREAL=float")
    kind = np.array([1, 0, 1, 1], np.int32)
    with instrument().memory(np.ones(4, np.float32), kind) as (out, kinds):
        kernel.set_args(out, kinds, np.float32(0.5), np.float32(0.25), np.int32(3))
        instrument().times(kernel, 1, 4, 1)
        first, second = stepped(1.0, 3), stepped(1.0, 3, 0.25, -0.5)
        assert [first if one else second for one in kind] == content(out, np.float32, 4).tolist()


def test_points_of_lanes():
    points = list(execution.LANES.points(instrument(), SHORT, ()))
    single = [point for point in points if point.at["dtype"] == "float32" and point.work > 0]
    widest = max(point.at["lanes"] for point in single)
    assert [2**k for k in range(9)] == [p.at["block"] for p in single if p.at["lanes"] == widest]
    assert [1, 8, 32, 64] == [p.at["lanes"] for p in single if p.at["lanes"] < widest]
    assert set(instrument().dtypes) == {point.at["dtype"] for point in points}
