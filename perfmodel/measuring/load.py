"""How busy other processes keep the machine while something is measured, from what Linux counts in ``/proc/stat``.

Time that a hypervisor gives to other virtual machines counts as that of others. On other systems nothing is known.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic

from perfmodel.store.measurement import LOADED

BUSY = 0.25
"""Others are said to load the machine if they use more than so many cores."""
WINDOW_S = 0.2
"""A shorter time tells nothing: the system counts in hundredths of a second [s]."""


@dataclass(frozen=True)
class MachineTimes:
    """What all cores and this process with its children have worked, at a time of the clock [s]."""

    at_s: float
    busy_s: float
    own_s: float


def reading() -> MachineTimes | None:
    """Read the machine's counters; None where it has none."""
    try:
        first = Path("/proc/stat").read_text(encoding="ascii").split("\n", 1)[0]
        user, nice, system, _idle, _waits, *interrupts_and_steal = (int(ticks) for ticks in first.split()[1:9])
    except (OSError, ValueError):
        return None
    ticks = user + nice + system + sum(interrupts_and_steal)
    return MachineTimes(monotonic(), ticks / os.sysconf("SC_CLK_TCK"), sum(os.times()[:4]))


def others(before: MachineTimes, after: MachineTimes) -> float:
    """Return how many cores other processes used between two readings, on average.

    Examples
    --------
    >>> others(MachineTimes(0.0, 100.0, 5.0), MachineTimes(2.0, 103.0, 6.0))
    1.0
    """
    used = (after.busy_s - before.busy_s) - (after.own_s - before.own_s)
    return max(used, 0.0) / (after.at_s - before.at_s)


@dataclass(eq=False)
class LoadWatch:
    """Follows the load of a machine while it measures, and tells once that there is some."""

    tell: Callable[[str], None] | None = None
    read: Callable[[], MachineTimes | None] = lambda: reading()  # looked up at each call, so that tests can replace it
    cores: float | None = None  # that others used when they were last looked at; None where that is not known
    _last: MachineTimes | None = field(init=False)

    def __post_init__(self) -> None:
        self._last = self.read()

    def look(self) -> float | None:
        """Return how many cores others have used since the last look, or before it if that was a moment ago."""
        now, last = self.read(), self._last
        if now is None or last is None or now.at_s - last.at_s < WINDOW_S:
            return self.cores
        self.cores, self._last = round(others(last, now), 2), now
        if self.cores > BUSY and self.tell is not None:
            self.tell(warning(self.cores))
            self.tell = None
        return self.cores

    @property
    def busy(self) -> bool:
        """Whether others loaded the machine at the last look."""
        return self.cores is not None and self.cores > BUSY


def warning(cores: float) -> str:
    """Return what to know of a machine on which others use so many cores."""
    return (
        f"others use {cores:.1f} of the machine's {os.cpu_count() or 1} cores, so times are too long: end them, or "
        f"measure again on a quiet machine; times under load are flagged '{LOADED}'"
    )
