"""Undisturbed measuring: a lock for each device, and threads of a CPU device pinned to cores.

Only one campaign of a user at a time measures on a device.
"""

from __future__ import annotations

import os
import platform
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from tempfile import gettempdir
from types import MappingProxyType

from filelock import FileLock, Timeout

from perfmodel.errors import DeviceBusyError
from perfmodel.facts import DeviceFacts
from perfmodel.io import output_error, replace_file
from perfmodel.progress import Progress

#: A campaign that waits looks for the lock at this interval [s]; more often would disturb the one that runs.
POLL_S = 1.0


def lock_path(facts: DeviceFacts) -> Path:
    """File that a campaign on this device locks; all drivers of the CPU share one.

    It lies in a folder of the user's own, so that nobody else can hold or replace it, and on this machine, as the
    device does. Two equal cards share one: they have the same name, and so the same default store.
    """
    name = "cpu" if "device_type" in facts and facts.value("device_type") == "cpu" else facts.slug
    user = str(os.getuid()) if hasattr(os, "getuid") else "user"  # elsewhere the system's folder is the user's own
    return Path(gettempdir()) / f"perfmodel-{user}" / f"{name}.lock"


@contextmanager
def locked(facts: DeviceFacts, progress: Progress, wait_s: float = 0.0) -> Iterator[None]:
    """Hold the device's lock, after waiting up to `wait_s` [s] for a campaign that holds it, or raise DeviceBusyError.

    The system releases the lock when a process ends, however it ends. OutputError says that its file cannot be made.
    """
    path = lock_path(facts)
    lock = FileLock(path, poll_interval=POLL_S, thread_local=False)  # a worker's lock is given back by a thread
    try:
        _make_own(path.parent)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            progress.tell(f"waiting up to {wait_s:g} s for another campaign on {facts.name}: {_holder(path)}")
            _acquire(lock, path, facts, wait_s)
        since = datetime.now().astimezone().isoformat(sep=" ", timespec="seconds")
        holder = f"process {os.getpid()} on {platform.node()} since {since}"
        replace_file(_holder_path(path), holder.encode(), durable=False)
    except OSError as error:
        if isinstance(error, DeviceBusyError):
            raise
        raise output_error(path, error) from error
    try:
        yield
    finally:
        lock.release()


def _acquire(lock: FileLock, path: Path, facts: DeviceFacts, wait_s: float) -> None:
    try:
        lock.acquire(timeout=wait_s)
    except Timeout:
        raise DeviceBusyError(facts.name, wait_s, _holder(path), path) from None


def _make_own(folder: Path) -> None:
    """Make the folder, for nobody but this user; PermissionError if it is a link, or another user's."""
    folder.mkdir(mode=0o700, exist_ok=True)
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or (hasattr(os, "getuid") and status.st_uid != os.getuid()):
        raise PermissionError(f"'{folder}' is not a folder of your own")


def _holder_path(path: Path) -> Path:
    """File beside the lock: who holds it. The lock itself is emptied by whoever waits for it."""
    return path.with_suffix(".holder")


def _holder(path: Path) -> str:
    """Return which process holds the lock, on which host and since when."""
    try:
        return " ".join(_holder_path(path).read_text(encoding="utf-8", errors="replace").split())
    except OSError:
        return f"an unknown process that locks '{path}'"


#: Variables that the drivers of CPUs read, and the values that keep each thread on a core of its own:
#: PoCL's (its drivers ``pthread`` and ``cpu``), and Intel's (a thread for each hardware thread).
PINNED = MappingProxyType({"POCL_AFFINITY": "1", "DPCPP_CPU_CU_AFFINITY": "close", "DPCPP_CPU_PLACES": "threads"})


def pin_threads() -> None:
    """Ask the drivers of CPUs to keep each of their threads on a core of its own, unless a variable is set already.

    Otherwise the system may wake two threads on one core, and then all short runs of a visit take twice as long, or
    none do. Call it before devices are first listed. It does nothing if the process may not use all cores. Records hold
    the settings in ``versions``.
    """
    cores = os.cpu_count() or 1
    if hasattr(os, "sched_getaffinity") and os.sched_getaffinity(0) >= set(range(cores)):
        for name, value in PINNED.items():
            os.environ.setdefault(name, value)
