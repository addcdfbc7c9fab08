"""A line of each page beside packed lines, and what all units read again."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from perfmodel.measuring.probes import caches
from tests.measuring.probes.devices import SHORT, instrument


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


def test_streams_leave_the_part_of_a_servers_last_level_that_a_virtual_machine_has():
    assert 2**30 == max(caches.STREAMS)
    assert list(caches.STREAMS) == sorted({*caches.STREAMS})
    assert all(second / first < 1.5 for first, second in pairwise(caches.STREAMS))
