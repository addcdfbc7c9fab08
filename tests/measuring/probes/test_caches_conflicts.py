"""Chases over few lines that are a power of two apart."""

from __future__ import annotations

import pytest

from perfmodel.measuring.probes import caches
from tests.measuring.probes.devices import SHORT, instrument


@pytest.mark.device
def test_points(monkeypatch):
    monkeypatch.setattr(caches, "LINES", (2, 5))
    points = list(caches.CONFLICTS.points(instrument(), SHORT, ()))
    measured = [(point.at["stride"], point.at["lines"]) for point in points if point.work > 0]
    assert [(stride, lines) for stride in caches.STRIDES for lines in (2, 5)] == measured
    assert 1 == sum(point.work == 0 for point in points)
