"""Memory, arithmetic and both."""

from __future__ import annotations

import numpy as np
import pytest

from perfmodel.measuring.probes import execution
from perfmodel.measuring.probes.execution import overlap_source
from tests.measuring.probes.devices import SHORT, content, instrument, stepped
from tests.probed import probe

pytestmark = pytest.mark.device


@pytest.mark.parametrize(("part", "operations"), [("launch", 0), ("memory", 0), ("compute", 3), ("both", 3)])
def test_what_the_kernels_compute(part, operations):
    """Eight groups of 4; groups 0 to 3 share the first four cells, and the last group of those that share counts."""
    kernel = instrument().kernel(overlap_source(part, operations), "-DSHARE=8")
    numbers = np.repeat(np.arange(8, dtype=np.float32), 4)[::-1].copy()
    with instrument().memory(numbers, 16) as (values, out):
        kernel.set_args(out, values, np.float32(0.5), np.float32(0.25))
        instrument().times(kernel, 8, 4, 1)
        loaded = {"launch": {0.5}, "compute": {7.0}}.get(part, set(range(8)))
        assert set(content(out, np.float32, 4).tolist()) <= {stepped(one, operations) for one in loaded}


@pytest.mark.slow
def test_points_and_that_a_later_visit_takes_the_same_chains():
    points = list(execution.OVERLAP.points(instrument(), SHORT, ()))
    assert ["launch", "memory", "compute"] == [point.at["part"] for point in points[:3]]
    assert [0, 1, 1] == [point.work for point in points[:3]]
    earlier = probe("overlap", [({"part": part, "operations": n}, 1, 1.0) for part, n in (
        ("memory", 0), ("compute", 6), ("both", 6), ("compute", 8),
    )])  # fmt: skip
    later = list(execution.OVERLAP.points(instrument(), SHORT, (earlier,)))
    expected = [("launch", 0), ("memory", 0), ("compute", 6), ("both", 6)]
    assert expected == [(point.at["part"], point.at["operations"]) for point in later]
