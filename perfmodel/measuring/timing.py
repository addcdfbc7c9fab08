"""Times of the runs of one configuration."""

from __future__ import annotations

import gc
from dataclasses import dataclass
from statistics import median
from time import perf_counter
from typing import Any

from perfmodel.measuring.campaign import Campaign
from perfmodel.measuring.program import Launch


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

    def median(self, dropped: int) -> float:
        """Median of the host's times after the drop [s]."""
        return median(self.host_s[dropped:])

    def spread(self, dropped: int) -> float:
        """Median over minimum after the drop, less one [1]."""
        return self.median(dropped) / min(self.host_s[dropped:]) - 1


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


def steady_sample(queue: Any, launches: tuple[Launch, ...], campaign: Campaign) -> tuple[Samples, int]:
    """Sample, again while the times spread too wide; the best try, and how often again.

    The best is the one of the lowest median: whatever disturbs a run only makes it longer.
    """
    best = sample(queue, launches, campaign.runs, campaign.timeout_s)
    again = 0
    while best.complete and again < campaign.retries and best.spread(campaign.dropped) > campaign.spread:
        again += 1
        other = sample(queue, launches, campaign.runs, campaign.timeout_s)
        if other.complete and other.median(campaign.dropped) < best.median(campaign.dropped):
            best = other
    return best, again
