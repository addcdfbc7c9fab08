"""Loops with barriers."""

from __future__ import annotations

import numpy as np
import pytest

from perfmodel.measuring.probes import barriers
from perfmodel.measuring.probes.barriers import source
from tests.measuring.probes.devices import SHORT, content, instrument, stepped


@pytest.mark.parametrize("number", barriers.NUMBERS)
def test_the_kernel_has_that_many(number):
    assert number == source(number).count("barrier(CLK_LOCAL_MEM_FENCE)")
    assert max(number, 1) == source(number).count(barriers.STEP)


@pytest.mark.device
def test_what_the_kernel_computes():
    kernel = instrument().kernel(source(2))
    with instrument().memory(np.arange(16, dtype=np.float32)) as (out,):
        kernel.set_args(out, np.float32(0.5), np.float32(0.25), np.int32(2))
        instrument().times(kernel, 1, 16, 1)
        assert stepped(np.arange(16, dtype=np.float32), 4).tolist() == content(out, np.float32, 16).tolist()


@pytest.mark.device
def test_points():
    points = list(barriers.PROBE.points(instrument(), SHORT, ()))
    measured = {(point.at["barriers"], point.at["items"]) for point in points if point.work > 0}
    assert {(b, g) for b in barriers.NUMBERS for g in barriers.ITEMS} == measured
