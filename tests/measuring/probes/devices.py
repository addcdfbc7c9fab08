"""The device of the tests, opened for probes, and settings that take a moment."""

from functools import cache

import numpy as np
import pyopencl as cl

from perfmodel.measuring.probes.probe import Instrument, ProbeSettings
from tests.machine import device

SHORT = ProbeSettings("short", visits=1, runs=3, dropped=1, run_s=1e-4, most_s=5.0, most_bytes=2**17)


@cache
def instrument() -> Instrument:
    return Instrument(device())


def content(buffer, dtype, count):
    found = np.empty(count, dtype)
    cl.enqueue_copy(instrument().queue, found, buffer)
    return found


def stepped(x, steps, p=0.5, q=0.25):
    """What ``x = x*p + q`` gives, so many times; these numbers are exact in both precisions."""
    for _ in range(steps):
        x = x * p + q
    return x
