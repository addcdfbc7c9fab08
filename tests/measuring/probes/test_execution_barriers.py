"""Loops with barriers."""

from __future__ import annotations

import numpy as np
import pytest

from perfmodel.measuring.probes import execution
from perfmodel.measuring.probes.execution import barrier_source
from tests.measuring.probes.devices import SHORT, content, instrument, stepped


@pytest.mark.parametrize("number", execution.BARRIERS_NUMBERS)
def test_the_kernel_has_that_many(number):
    assert number == barrier_source(number).count("barrier(CLK_LOCAL_MEM_FENCE)")
    assert max(number, 1) == barrier_source(number).count(execution.STEP)


@pytest.mark.device
def test_what_the_kernel_of_barriers_computes():
    kernel = instrument().kernel(barrier_source(2))
    with instrument().memory(np.arange(16, dtype=np.float32)) as (out,):
        kernel.set_args(out, np.float32(0.5), np.float32(0.25), np.int32(2))
        instrument().times(kernel, 1, 16, 1)
        assert stepped(np.arange(16, dtype=np.float32), 4).tolist() == content(out, np.float32, 16).tolist()


@pytest.mark.device
def test_points_of_barriers():
    points = list(execution.BARRIERS.points(instrument(), SHORT, ()))
    measured = {(point.at["barriers"], point.at["items"]) for point in points if point.work > 0}
    assert {(b, g) for b in execution.BARRIERS_NUMBERS for g in execution.BARRIERS_ITEMS} == measured
