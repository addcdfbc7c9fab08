"""Undisturbed measuring: a lock for each device, pinned threads of CPU devices, and the load by other processes."""

import os
import platform
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from tempfile import gettempdir
from time import monotonic, sleep
from types import MappingProxyType
from typing import NamedTuple

import psutil
from filelock import FileLock, Timeout

from perfmodel.errors import DeviceBusyError, OptionError
from perfmodel.facts import DeviceFacts
from perfmodel.io import output_error, replace_file
from perfmodel.progress import Progress, Reminder
from perfmodel.store.measurement import LOADED

POLL_S = 1.0  #: Interval at which a waiting campaign tries the lock [s]; less would disturb the running campaign
PINNED = MappingProxyType({"POCL_AFFINITY": "1", "DPCPP_CPU_CU_AFFINITY": "close", "DPCPP_CPU_PLACES": "threads"})
"""Variables of PoCL (drivers ``pthread`` and ``cpu``) and of Intel's driver that keep each thread on one core."""
BUSY = 0.25  # number of cores used by other processes above which the machine counts as loaded [1]
WINDOW_S = 0.2  # shortest time over which the load is measured [s]: the system counts in hundredths of a second
LOOK_S, WAIT_S = 1.0, 30.0  # time over which a loaded machine is measured, and longest wait for a quiet one [s]
VARIABLE = "PERFMODEL_WAIT_S"  # environment variable that replaces WAIT_S [s], for example by 0


def lock_path(facts: DeviceFacts) -> Path:
    """Return the lock file of a device, in a folder of the user. Drivers of one CPU share a file, as do equal cards."""
    name = "cpu" if facts.known("device_type") == "cpu" else facts.slug
    user = str(os.getuid()) if hasattr(os, "getuid") else "user"
    return Path(gettempdir()) / f"perfmodel-{user}" / f"{name}.lock"


@contextmanager
def locked(facts: DeviceFacts, progress: Progress, wait_s: float = 0.0) -> Iterator[None]:
    """Hold the lock of a device in a block. Raise DeviceBusyError after `wait_s` [s]. A dead process holds no lock."""
    path = lock_path(facts)
    lock = FileLock(path, poll_interval=POLL_S, thread_local=False)
    try:
        _make_own(path.parent)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            progress.report(f"waiting up to {wait_s:g} s for another campaign on {facts.name}: {_holder(path)}")
            lock.acquire(timeout=wait_s)
        since = datetime.now().astimezone().isoformat(sep=" ", timespec="seconds")
        holder = f"process {os.getpid()} on {platform.node()} since {since}"
        replace_file(path.with_suffix(".holder"), holder.encode(), durable=False)
    except Timeout:
        raise DeviceBusyError(
            f"another campaign measures on '{facts.name}' and did not end within {wait_s:g} s: {_holder(path)} (it "
            f"locks '{path}')", "end that process, or run this again later",
        ) from None  # fmt: skip
    except OSError as error:
        raise output_error(path, error) from error
    try:
        yield
    finally:
        lock.release()


def _make_own(folder: Path) -> None:
    """Make the folder for this user only. Raise PermissionError if it is a link or belongs to another user."""
    folder.mkdir(mode=0o700, exist_ok=True)
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or (hasattr(os, "getuid") and status.st_uid != os.getuid()):
        raise PermissionError(f"'{folder}' is not a folder of your own")


def _holder(path: Path) -> str:
    with suppress(OSError):  # not in the lock itself, which waiting processes truncate
        return " ".join(path.with_suffix(".holder").read_text(encoding="utf-8", errors="replace").split())
    return f"an unknown process that locks '{path}'"


def pin_threads() -> None:
    """Set, before devices are listed, the variables that make drivers of CPUs keep each thread on one core.

    Without these variables two threads on one core double the times of short runs. If the process may not use all
    cores, the function does nothing.
    """
    if hasattr(os, "sched_getaffinity") and os.sched_getaffinity(0) >= set(range(os.cpu_count() or 1)):
        for name, value in PINNED.items():
            os.environ.setdefault(name, value)


class MachineTimes(NamedTuple):
    """Busy time [s] of all cores, and of this process with its children, and the clock's time when they were read.

    The children that still run count too: processes that count kernels are not a load by others.
    """

    at_s: float
    busy_s: float
    own_s: float


def reading() -> MachineTimes:
    """Read the counters of the machine. Time that a hypervisor gives to other virtual machines counts as busy."""
    times = psutil.cpu_times()._asdict()
    counted_twice = ("guest", "guest_nice")  # in "user" and "nice" too
    busy_s = sum(value for name, value in times.items() if name not in ("idle", "iowait", *counted_twice))
    own, own_s = psutil.Process(), 0.0
    for process in (*own.children(recursive=True), own):
        with suppress(psutil.Error):  # it ended just now
            own_s += sum(process.cpu_times()[:4])  # with those of its ended children
    return MachineTimes(monotonic(), busy_s, own_s)


def others(before: MachineTimes, after: MachineTimes) -> float:
    """Return how many cores other processes used between two readings, on average."""
    used = (after.busy_s - before.busy_s) - (after.own_s - before.own_s)
    return max(used, 0.0) / (after.at_s - before.at_s)


class LoadWatch:
    """Watches the load by other processes during measurements, and reports it once."""

    def __init__(self, report: Callable[[str], None] | None = None) -> None:
        self._report, self._last = report, reading()
        self.cores: float | None = None  # used by other processes at the last look

    def look(self) -> float | None:
        """Return how many cores other processes used since the last look. A look just after repeats this number."""
        now = reading()
        if now.at_s - self._last.at_s < WINDOW_S:
            return self.cores
        self.cores = cores = round(others(self._last, now), 2)
        self._last = now
        if cores > BUSY and self._report is not None:
            self._report(Reminder(
                f"{_shares(cores)}, so times may be too high; stop those programs, or measure again on a quiet "
                f"machine; times under load are flagged '{LOADED}'"
            ))  # fmt: skip
            self._report = None
        return self.cores

    @property
    def busy(self) -> bool:
        """Whether other processes loaded the machine at the last look."""
        return self.cores is not None and self.cores > BUSY


def wait_until_quiet(report: Callable[[str], None]) -> bool:
    """Wait, at most :data:`WAIT_S`, while others load the machine, and `report` this. Return whether it is quiet."""
    given, most_s = os.environ.get(VARIABLE) or str(WAIT_S), -1.0
    with suppress(ValueError):
        most_s = float(given)
    if not 0 <= most_s < float("inf"):
        raise OptionError(f"the variable {VARIABLE} is '{given}'", "give seconds, 0 or more, as 30, or unset it")
    if not most_s or _others_use(WINDOW_S) <= BUSY or (cores := _others_use(LOOK_S)) <= BUSY:
        return True
    report(f"{_shares(cores)}: waiting up to {most_s:g} s until they end ({VARIABLE}=0 does not wait)")
    until = monotonic() + most_s
    while monotonic() < until:
        if _others_use(LOOK_S) <= BUSY:
            report("the machine is quiet now")
            return True
    report(f"the machine is not quiet after {most_s:g} s: measuring all the same")
    return False


def _others_use(window_s: float) -> float:
    before = reading()
    sleep(window_s)
    return others(before, reading())


def _shares(cores: float) -> str:
    return f"others use {cores:.1f} of the machine's {os.cpu_count() or 1} cores"
