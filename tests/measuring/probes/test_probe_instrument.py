"""Programs, buffers and times on a device."""

import numpy as np
import pytest

from tests.measuring.probes.devices import content, instrument

SOURCE = "kernel void add(global int *a, int k) { for (int i = 0; i < k; i++) a[get_global_id(0)] += STEP; }"

pytestmark = pytest.mark.device


def test_times_and_buffers():
    kernel = instrument().kernel(SOURCE, "-DSTEP=2")
    with instrument().memory(np.arange(8, dtype=np.int32)) as (buffer,):
        kernel.set_args(buffer, np.int32(1))
        seconds = instrument().times(kernel, 2, 4, 3)
        assert (3, True) == (len(seconds), min(seconds) > 0)
        assert list(range(6, 14)) == content(buffer, np.int32, 8).tolist()
        instrument().write(buffer, np.array([7], np.int32), at=4)
        assert [6, 7, 8] == content(buffer, np.int32, 3).tolist()


def test_an_amount_of_work_is_set_and_stays_below_the_most():
    kernel = instrument().kernel(SOURCE, "-DSTEP=0")
    with instrument().memory(np.zeros(1, np.int32)) as (buffer,):
        kernel.set_args(buffer, np.int32(1))
        assert 1 <= instrument().amount(kernel, 1, 1, 1e-4, most=1000) <= 1000
