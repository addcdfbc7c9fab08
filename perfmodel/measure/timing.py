"""Times of the runs of one configuration."""

from __future__ import annotations

import gc
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from perfmodel.measure.program import Launch


@dataclass(frozen=True)
class Samples:
    """Times of the runs in order.

    Parameters
    ----------
    host_s : tuple of float
        Host clock from before the enqueue until the device is idle [s].
    device_s : tuple of float
        The device's own times, from the first start to the last end [s].
    complete : bool
        False if the runs were given up for taking too long.
    """

    host_s: tuple[float, ...]
    device_s: tuple[float, ...]
    complete: bool = True


def sample(queue: Any, launches: tuple[Launch, ...], runs: int, timeout_s: float = float("inf")) -> Samples:
    """Run a kernel `runs` times, each on an idle queue, and note the times.

    Parameters
    ----------
    queue : pyopencl.CommandQueue
        In order, with profiling.
    launches : tuple of Launch
        What one call enqueues.
    runs : int
        How often.
    timeout_s : float
        No run is begun when those before took longer [s].
    """
    host: list[float] = []
    device: list[float] = []
    collecting = gc.isenabled()
    gc.disable()
    try:
        queue.finish()
        for _ in range(runs):
            if sum(host) > timeout_s:
                return Samples(tuple(host), tuple(device), complete=False)
            before = perf_counter()
            events = [launch.enqueue(queue) for launch in launches]
            queue.finish()
            host.append(perf_counter() - before)
            device.append(1e-9 * (events[-1].profile.end - events[0].profile.start))
    finally:
        if collecting:
            gc.enable()
    return Samples(tuple(host), tuple(device))
