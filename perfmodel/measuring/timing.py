"""The clock: times of single runs, each from before the enqueue until the device is idle."""

from __future__ import annotations

import gc
from dataclasses import dataclass
from datetime import datetime, timezone
from statistics import median
from time import perf_counter
from typing import Any

from perfmodel.measuring.generated_code import Enqueue


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
        False if runs were left out because those before took too long.
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


def now(to: str) -> str:
    """Write the time in UTC, ISO 8601, to ``seconds`` or ``milliseconds``."""
    return datetime.now(timezone.utc).isoformat(timespec=to)


def sample(
    queue: Any, enqueues: tuple[Enqueue, ...], runs: int, timeout_s: float = float("inf"),
    enough: tuple[float, int] = (float("inf"), 0),
) -> Samples:  # fmt: skip
    """Run a kernel `runs` times, each on an idle queue, and note the times.

    Parameters
    ----------
    queue : pyopencl.CommandQueue
        In order, with profiling.
    enqueues : tuple of Enqueue
        What one call of the kernel enqueues.
    runs : int
        Number of runs.
    timeout_s : float
        No run is begun when those before took longer [s].
    enough : (float, int)
        So many runs suffice once they took longer than this [s].
    """
    host: list[float] = []
    device: list[float] = []
    collecting = gc.isenabled()
    gc.disable()
    try:
        queue.finish()
        for _ in range(runs):
            if sum(host) > enough[0] and len(host) >= enough[1]:
                break
            if sum(host) > timeout_s:
                return Samples(tuple(host), tuple(device), complete=False)
            before = perf_counter()
            events = [enqueue(queue) for enqueue in enqueues]
            queue.finish()
            host.append(perf_counter() - before)
            device.append(1e-9 * (events[-1].profile.end - events[0].profile.start))
    finally:
        if collecting:
            gc.enable()
    return Samples(tuple(host), tuple(device))
