"""What the times of a probe can be: undisturbed devices pass, and each impossible time is named."""

from __future__ import annotations

from dataclasses import replace

import pytest

from perfmodel.facts.probe_bounds import disturbed, undisturbed
from perfmodel.store.files import read_probes
from tests.probed import chase, lanes, probe
from tests.recorded import PROBED


@pytest.mark.parametrize(("width", "hidden"), [(1, False), (8, False), (16, False), (4, True), (32, True), (64, True)])
def test_devices_of_every_order_are_undisturbed(width, hidden):
    assert "" == disturbed(lanes(width, hidden))


def test_committed_probes_are_undisturbed():
    runs = [run for folder in PROBED for run in read_probes(folder)]
    assert runs
    assert [] == [(run.device, run.probe, disturbed(run)) for run in runs if disturbed(run)]


def changed(run, factor, **at):
    """Return a probe of whose settings some take another time."""
    points = (
        replace(point, host_s=tuple(factor * s for s in point.host_s)) if at.items() <= point.at.items() else point
        for point in run.points
    )
    return replace(run, points=tuple(points))


def test_eight_lanes_cannot_take_less_time_than_one():
    """A serial device, of which 1 lane was disturbed while it was timed: 8 lanes take 8/941 of its time."""
    slow = changed(lanes(1), 941.0, lanes=1)
    assert "8 lanes take 0.0085 times as long as 1: 1 to 8 can be" == disturbed(slow)
    assert (lanes(1),) == undisturbed([slow, lanes(1)])


@pytest.mark.parametrize(("block", "lane_count", "factor", "said"), [
    (64, 64, 4.0, "64 lanes take 2.6e+02 times as long as 1: 1 to 64 can be"),
    (2, 256, 5.0, "lanes of two kinds in blocks of 2 take 5 times as long as of one: 1 to 2 can be"),
    (2, 256, 0.1, "lanes of two kinds in blocks of 2 take 0.1 times as long as of one: 1 to 2 can be"),
])
def test_other_lanes_that_cannot_be(block, lane_count, factor, said):
    assert said == disturbed(changed(lanes(1), factor, block=block, lanes=lane_count))


def nests(gain):
    return probe("nests", [
        ({"nest": nest, "operations": n, "dtype": "float32"}, 1, 1.0 + each * n)
        for nest, each in (("straight", 1.0), ("looped", gain)) for n in (32, 64)
    ])  # fmt: skip


def overlap(both):
    return probe("overlap", [
        ({"part": "memory", "operations": 0}, 1, 1.0), ({"part": "compute", "operations": 8}, 1, 2.0),
        ({"part": "both", "operations": 8}, 1, both),
    ])  # fmt: skip


@pytest.mark.parametrize(("run", "said"), [
    (chase({4096: 1e-9, 8192: 2e-5}), "a load takes 2e-05 s, and can take 5e-11 to 1e-05 s"),
    (probe("line", [({"apart": 4}, 10, 1e-12)]), "a load takes 1e-12 s"),
    (probe("stream", [({"bytes": 4, "units": 2}, 1, 1e-3)]), "a byte takes 0.001 s"),
    (nests(1000.0), "float32 without a loop is 1e+03 times as fast as with one, and can be up to 64 times"),
    (probe("barriers", [({"barriers": b, "items": 16}, 1, 0.1 * b) for b in (1, 2, 3)]), "a barrier takes 0.1 s"),
    (overlap(0.5), "memory and computing take 0.5 s together, and can take 2 to 3 s"),
    (overlap(9.0), "memory and computing take 9 s together, and can take 2 to 3 s"),
])
def test_times_of_other_probes_that_cannot_be(run, said):
    assert disturbed(run).startswith(said)


@pytest.mark.parametrize("run", [
    chase({4096: 1e-9, 8192: 1e-7}), nests(16.0), overlap(2.0), overlap(3.0), probe("new", [({}, 1, 1.0)]),
])
def test_times_that_can_be(run):
    assert "" == disturbed(run)
