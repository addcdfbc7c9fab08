"""Pairs of loads, in a footprint between two caches."""

from __future__ import annotations

import pytest

from perfmodel.measuring.probes import caches
from tests.facts.test_probed import capacity
from tests.measuring.probes.devices import SHORT, instrument
from tests.probed import chase


@pytest.mark.device
def test_points():
    points = list(caches.LINE.points(instrument(), SHORT, (capacity(),)))
    assert list(caches.APART) == [point.at["apart"] for point in points if point.work > 0]


@pytest.mark.device
def test_without_a_cache_there_is_nothing_to_time():
    assert [] == list(caches.LINE.points(instrument(), SHORT, (chase({64: 1.0, 128: 1.0, 256: 1.0, 512: 1.0}),)))
