"""How busy other processes keep the machine before and while something is measured, from Linux's ``/proc/stat``.

Time that a hypervisor gives to other virtual machines counts as that of others. On other systems nothing is known.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic, sleep

from perfmodel.errors import OptionError
from perfmodel.progress import Reminder
from perfmodel.store.measurement import LOADED

BUSY = 0.25
"""Others are said to load the machine if they use more than so many cores."""
WINDOW_S = 0.2
"""A shorter time tells nothing: the system counts in hundredths of a second [s]."""
LOOK_S, WAIT_S = 1.0, 30.0
"""How long a machine is looked at before it is called loaded, and how long commands wait for a quiet one [s]."""
VARIABLE = "PERFMODEL_WAIT_S"
"""Environment variable: another time to wait [s], as 0."""


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


def wait_until_quiet(tell: Callable[[str], None]) -> bool:
    """Wait while others load the machine, :data:`WAIT_S` or the variable's time at most; return whether it is quiet.

    A quiet machine is known after :data:`WINDOW_S`. Where there is something to wait for, `tell` gets it beforehand.
    """
    most_s = waiting_s()
    if not most_s or _others_use(WINDOW_S) <= BUSY or (cores := _others_use(LOOK_S)) <= BUSY:
        return True
    tell(f"{_shares(cores)}: waiting up to {most_s:g} s until they end ({VARIABLE}=0 does not wait)")
    until = monotonic() + most_s
    while monotonic() < until:
        if _others_use(LOOK_S) <= BUSY:
            tell("the machine is quiet now")
            return True
    tell(f"the machine is not quiet after {most_s:g} s: measuring all the same")
    return False


def waiting_s() -> float:
    """Return how long to wait for a quiet machine [s]; OptionError where the variable holds no such number."""
    given = os.environ.get(VARIABLE) or str(WAIT_S)
    try:
        seconds = float(given)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < float("inf"):
        raise OptionError(f"the variable {VARIABLE} is '{given}'", "give seconds, 0 or more, as 30, or unset it")
    return seconds


def _others_use(window_s: float) -> float:
    """Return how many cores others use during a time from now on [s]; 0 where the system does not tell."""
    before = reading()
    if before is None:
        return 0.0
    sleep(window_s)
    after = reading()
    return 0.0 if after is None else others(before, after)


def _shares(cores: float) -> str:
    return f"others use {cores:.1f} of the machine's {os.cpu_count() or 1} cores"


def warning(cores: float) -> str:
    """Return what to know of a machine on which others use so many cores."""
    return Reminder(
        f"{_shares(cores)}, so times are too long: end them, or measure again on a quiet machine; times under load are "
        f"flagged '{LOADED}'"
    )
