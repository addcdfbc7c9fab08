"""Probes of how a device executes: lanes, nests, barriers and overlap."""

import numpy as np
import pytest

from perfmodel.measuring.probes import execution
from perfmodel.measuring.probes.execution import barrier_source, nest_source, overlap_source
from tests.measuring.probes.devices import SHORT, content, instrument, stepped
from tests.probed import probe

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


@pytest.mark.parametrize("nest", ["straight", "looped"])
def test_what_the_kernel_of_nests_computes(nest):
    kernel = instrument().kernel(nest_source(nest, 5), "-DREAL=float")
    values = np.arange(8, dtype=np.float32)
    with instrument().memory(values, values.nbytes) as (numbers, out):
        kernel.set_args(out, numbers, np.float32(0.5), np.float32(0.25), np.int32(1), np.int32(2))
        instrument().times(kernel, 4, 4, 1)  # groups 0 and 1 share the first four cells
        assert stepped(values, 5).tolist() == content(out, np.float32, 8).tolist()


def test_points_of_nests():
    points = list(execution.NESTS.points(instrument(), SHORT, ()))
    chains = execution.NESTS_OPERATIONS
    expected = {(d, n, k) for d in instrument().dtypes for n in ("straight", "looped") for k in chains}
    assert expected == {(p.at["dtype"], p.at["nest"], p.at["operations"]) for p in points}
    assert all(point.work >= execution.NESTS_ITEMS * execution.NESTS_PARTS for point in points)


@pytest.mark.parametrize("number", execution.BARRIERS_NUMBERS)
def test_the_kernel_has_that_many(number):
    assert number == barrier_source(number).count("barrier(CLK_LOCAL_MEM_FENCE)")
    assert max(number, 1) == barrier_source(number).count(execution.STEP)


def test_what_the_kernel_of_barriers_computes():
    kernel = instrument().kernel(barrier_source(2))
    with instrument().memory(np.arange(16, dtype=np.float32)) as (out,):
        kernel.set_args(out, np.float32(0.5), np.float32(0.25), np.int32(2))
        instrument().times(kernel, 1, 16, 1)
        assert stepped(np.arange(16, dtype=np.float32), 4).tolist() == content(out, np.float32, 16).tolist()


def test_points_of_barriers():
    points = list(execution.BARRIERS.points(instrument(), SHORT, ()))
    measured = {(point.at["barriers"], point.at["items"]) for point in points if point.work > 0}
    assert {(b, g) for b in execution.BARRIERS_NUMBERS for g in execution.BARRIERS_ITEMS} == measured


@pytest.mark.parametrize(("part", "operations"), [("launch", 0), ("memory", 0), ("compute", 3), ("both", 3)])
def test_what_the_kernels_of_overlap_compute(part, operations):
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
