"""Probes of caches: the chase, conflicts of lines, pages, and the line of the first cache."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from perfmodel.measuring.probes import caches
from perfmodel.measuring.probes.caches import cycle, disagreeing, footprints
from tests import probed
from tests.facts.test_probed import capacity
from tests.measuring.probes.devices import SHORT, content, instrument


def test_footprints_rise_by_less_than_a_half_and_hold_usual_capacities():
    assert (4096, 5120, 6144, 7168, 8192) == footprints(2**13)
    found = footprints(2**28)
    assert (2**12, 2**28) == (found[0], found[-1])
    assert max(b / a for a, b in pairwise(found)) < 1.42
    assert {kib * 2**10 for kib in (32, 48, 64, 128, 192, 256, 512, 1024, 1280, 2048, 32768)} <= set(found)
    assert all(octets % 64 == 0 for octets in found)


@pytest.mark.parametrize("lines", [1, 64, 2048, 5000])
def test_a_cycle_visits_each_line_once_and_blocks_one_after_the_other(lines):
    order = cycle(lines, np.random.default_rng(0))
    assert list(range(lines)) == sorted(order.tolist())
    blocks = order // caches.BLOCK_LINES
    assert -(-lines // caches.BLOCK_LINES) == 1 + int((np.diff(blocks) != 0).sum())


def test_footprints_whose_lowest_visits_differ_are_visited_again():
    runs = [probed.chase({64: 1e-9, 128: 2e-9}), probed.chase({64: 1.05e-9, 128: 3e-9}, visit=1)]
    assert (128,) == disagreeing(runs)
    assert () == disagreeing([*runs, probed.chase({128: 2.1e-9}, visit=2)])


@pytest.mark.device
def test_the_device_follows_the_cycle():
    order = cycle(5000, np.random.default_rng(1)).astype(np.uint32)
    kernel = instrument().kernel(caches.SOURCE)
    with instrument().memory(5000 * 64, order[:1] * np.uint32(16)) as (buffer, place):
        caches._link(instrument(), buffer, order)
        kernel.set_args(buffer, place, np.int32(1234))
        instrument().times(kernel, 1, 1, 1)
        assert order[1234] * 16 == content(place, np.uint32, 1)[0]
        instrument().times(kernel, 1, 1, 4)  # goes on where it stopped, and round
        assert order[5 * 1234 % 5000] * 16 == content(place, np.uint32, 1)[0]


@pytest.mark.device
def test_points_of_chase():
    points = list(caches.CHASE.points(instrument(), SHORT, ()))
    assert [0, 4096] == [points[0].work, points[0].at["bytes"]]
    assert list(footprints(SHORT.most_bytes)) == [point.at["bytes"] for point in points[1:]]
    assert all(len(point.host_s) == SHORT.runs and min(point.host_s) > 0 and point.work > 0 for point in points[1:])


@pytest.mark.device
def test_points_of_conflicts(monkeypatch):
    monkeypatch.setattr(caches, "LINES", (2, 5))
    points = list(caches.CONFLICTS.points(instrument(), SHORT, ()))
    measured = [(point.at["stride"], point.at["lines"]) for point in points if point.work > 0]
    assert [(stride, lines) for stride in caches.STRIDES for lines in (2, 5)] == measured
    assert 1 == sum(point.work == 0 for point in points)


@pytest.mark.device
def test_points_of_line():
    points = list(caches.LINE.points(instrument(), SHORT, (capacity(),)))
    assert list(caches.APART) == [point.at["apart"] for point in points if point.work > 0]


@pytest.mark.device
def test_as_many_lines_are_packed_as_spread():
    points = list(caches.PAGE.points(instrument(), replace(SHORT, most_bytes=2**19), ()))
    lines = [(point.at["pages"], point.at["lines"]) for point in points if point.work > 0]
    assert [(pages, kind) for pages in (64, 80, 96, 112, 128) for kind in ("packed", "spread")] == lines


@pytest.mark.device
def test_all_units_read_equal_parts():
    units = instrument().known("compute_units", 1)
    points = list(caches.LAST.points(instrument(), replace(SHORT, most_bytes=2**18), ()))
    assert [{"bytes": 2**20, "units": units}] == [point.at for point in points]  # four times the longest chase
    assert 0 <= 2**26 - points[0].work < 64 * units * caches.STREAM_PART
