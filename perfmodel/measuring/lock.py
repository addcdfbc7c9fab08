"""A lock for each device, so that only one campaign at a time measures on it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import gettempdir

from filelock import FileLock, Timeout

from perfmodel.errors import OutputError
from perfmodel.facts import DeviceFacts
from perfmodel.measuring.progress import Progress

#: A campaign that waits looks for the lock at this interval [s]; more often would disturb the one that runs.
POLL_S = 1.0


def lock_path(facts: DeviceFacts) -> Path:
    """File that a campaign on this device locks; all drivers of the CPU share one.

    Two equal cards share one too: they have the same name, and so the same default store.
    """
    name = "cpu" if "device_type" in facts and facts.value("device_type") == "cpu" else facts.slug
    return Path(gettempdir()) / f"perfmodel-{name}.lock"


@contextmanager
def locked(facts: DeviceFacts, progress: Progress) -> Iterator[None]:
    """Hold the device's lock, after waiting for a campaign that holds it.

    The system releases the lock when a process ends, however it ends.

    Raises
    ------
    OutputError
        The lock's file cannot be made.
    """
    path = lock_path(facts)
    lock = FileLock(path, mode=0o666, poll_interval=POLL_S)
    try:
        try:
            lock.acquire(timeout=0)
        except Timeout:
            progress.tell(f"waiting for another campaign on {facts.name} to end (it holds '{path}')")
            lock.acquire()
    except OSError as error:
        raise OutputError(str(path), error.strerror or str(error)) from error
    try:
        yield
    finally:
        lock.release()
