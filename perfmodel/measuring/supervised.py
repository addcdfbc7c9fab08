"""A supervised campaign: it goes on after a configuration that ends its process.

Python cannot catch what a driver does to its process: a kernel may end it by SIGSEGV, and a driver that finds
its memory damaged by SIGABRT.  So the campaign runs in a child process.  Before the child touches the device, it
writes to a pipe what to record if it dies (:func:`under_way`).  The supervisor starts the child again as long as
it dies in this way (:func:`supervise`).  A process that the user ends is not started again.

Ctrl-C in a terminal reaches both processes, ``kill -INT`` only one.  So the supervisor passes its interrupts on, and
the child takes the first one only.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path
from time import monotonic
from types import FrameType
from typing import NamedTuple, TypeAlias

from perfmodel import store
from perfmodel.store import Key, Measurement

#: Environment variables: file descriptor of the pipe, when the command began, and time used of a budget by processes
#: before this one [s].
PIPE, BEGAN, SPENT = "PERFMODEL_SUPERVISOR_PIPE", "PERFMODEL_BEGAN", "PERFMODEL_SPENT_S"
#: Signals that end a process which crashes; a user ends it by others.
CRASHES = frozenset({signal.SIGABRT, signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGFPE})
#: Status of a process that was interrupted.
INTERRUPTED = 128 + signal.SIGINT
#: Messages of such records begin with this text.
DIED = "the process died of "

#: The store, and what to record in it.
Report: TypeAlias = tuple[Path, Measurement]


class _End(NamedTuple):
    """How a child ended: its status (negative: a signal), the report that held, and whether it was interrupted."""

    status: int
    report: Report | None
    interrupted: bool


def follow_supervisor() -> bool:
    """Return whether a supervisor started this process; if so, the process ends as soon as the supervisor does."""
    if PIPE not in os.environ:
        return False
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # not where the caller ignores it
        signal.signal(signal.SIGINT, _interrupt_once)
    pipe = int(os.environ[PIPE])
    os.set_inheritable(pipe, False)
    threading.Thread(target=_end_with_reader, args=(pipe,), daemon=True).start()
    return True


def supervise(command: Sequence[str], tell: Callable[[str], None]) -> int:
    """Run a command that measures, again whenever a configuration ends it, and return its exit status.

    A configuration that was under way when the process died is tried once more, since an earlier configuration
    may have caused the damage.  If the process dies there twice in a row, the configuration is recorded as failed
    (``runtime``).  A process that leaves in the middle of one, by ``os._exit``, dies too.  A death between
    configurations is also followed by one new start, if the start before did not end in the same way.  So every
    start measures or records something, and there is an end.

    Parameters
    ----------
    command : sequence of str
        Program and arguments; the program calls :func:`follow_supervisor`.
    tell : callable
        Takes a message whenever the command is started again.
    """
    began_s, suspect, in_between = monotonic(), None, False
    began = datetime.now(timezone.utc).isoformat(timespec="seconds")  # as records have it
    while True:
        status, report, interrupted = _run(command, {BEGAN: began, SPENT: str(monotonic() - began_s)})
        if interrupted:
            return INTERRUPTED
        again = report is None and in_between
        in_between = report is None
        left = status >= 0 and report is not None  # by os._exit, which no exception tells
        if again or not (left or -status in CRASHES):
            return status if status >= 0 else 128 - status
        death = DIED + (f"os._exit({status})" if left else signal.Signals(-status).name)
        if report is None:  # damage that an earlier configuration did shows only now
            tell(f"{death} between configurations; tried again")
            continue
        path, row = report
        cause = f"{death} while this was under way"
        suspect = _judge(path, row, cause, suspect)
        fate = "tried again" if suspect else "recorded, the rest goes on"
        tell(f"{row.kernel} {store.canonical(row.variant)}: {cause}; {fate}")


def _judge(path: Path, row: Measurement, cause: str, suspect: Key | None) -> Key | None:
    """Record the configuration if it was suspected before; return the key of the one that is suspected now."""
    if row.key != suspect:
        return row.key
    store.append(path, row.model_copy(update={"status": "runtime", "message": f"{cause}, twice"}))
    return None


def _run(command: Sequence[str], told: Mapping[str, str]) -> _End:
    """Run the command once; the second interrupt kills it, where the first does not end it."""
    reading, writing = os.pipe()
    environment = {**os.environ, **told, PIPE: str(writing)}
    with os.fdopen(reading, "rb") as pipe:
        try:
            child = subprocess.Popen(command, env=environment, pass_fds=(writing,))
        finally:
            os.close(writing)
        last, interrupts = b"null", 0
        while child.returncode is None:
            try:
                for line in pipe:
                    last = line
                child.wait()
            except KeyboardInterrupt:
                interrupts += 1
                child.send_signal(signal.SIGKILL if interrupts > 1 else signal.SIGINT)
    document = json.loads(last)
    report = document and (Path(document["store"]), Measurement.model_validate(document["record"]))
    return _End(child.returncode, report, interrupts > 0)


@contextmanager
def under_way(path: Path, record: Callable[[], Measurement]) -> Iterator[None]:
    """Report to a supervisor what to record in the store at `path` if this process dies in the block."""
    if PIPE not in os.environ:
        yield
        return
    _report({"store": str(path.absolute()), "record": record().model_dump(mode="json", by_alias=True)})
    try:
        yield
    finally:
        _report(None)


def spent_s() -> float:
    """Time of a budget that processes before this one used [s]."""
    return float(os.environ.get(SPENT, "0"))


def recorded_by_this_command(row: Measurement) -> bool:
    """Whether a record is of a process of this supervised command: not older than the command."""
    if BEGAN not in os.environ or not row.taken_at:
        return False
    return datetime.fromisoformat(row.taken_at) >= datetime.fromisoformat(os.environ[BEGAN])


def died(row: Measurement) -> bool:
    """Whether a record is of a configuration that ended its process."""
    return row.status == "runtime" and row.message.startswith(DIED)


def _report(document: object) -> None:
    os.write(int(os.environ[PIPE]), json.dumps(document).encode() + b"\n")


def _interrupt_once(number: int, frame: FrameType | None) -> None:
    """Interrupt this process, and let no second interrupt disturb how it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    raise KeyboardInterrupt


def _end_with_reader(pipe: int) -> None:
    """End this process as soon as its supervisor has ended."""
    poll = select.poll()
    poll.register(pipe, 0)
    poll.poll()  # no event is asked for, so that it returns only when the other end closes
    os._exit(1)
