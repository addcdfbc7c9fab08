"""A campaign outlives its process: who kills it twice is recorded, and passed over.

Python cannot catch what a driver does to its process: a kernel may end it by SIGSEGV, a driver that finds
its memory damaged by SIGABRT.  So the campaign runs in a child.  Over a pipe the child says, before it touches
the device, what to record should it die in there (:func:`under_way`), and the supervisor starts it again for
as long as it gets killed (:func:`supervised`).  A process that a person ends is not started again.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import monotonic

from perfmodel import store
from perfmodel.store import Key, Measurement

#: File descriptor of the pipe, and what campaigns before this process have used of a budget [s].
PIPE, SPENT = "PERFMODEL_SUPERVISOR_PIPE", "PERFMODEL_SPENT_S"
#: How a process ends that was not ended by a person.
CRASHES = frozenset({signal.SIGABRT, signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGFPE})
#: How messages of such records begin.
DIED = "the process died of "

Words = tuple[Path, Measurement]


def supervise(command: Sequence[str], tell: Callable[[str], None]) -> int | None:
    """Run a command, which calls this again, as a child under supervision; its exit status, or None in the child."""
    if PIPE not in os.environ:
        return supervised(command, tell)
    pipe = int(os.environ[PIPE])
    os.set_inheritable(pipe, False)
    threading.Thread(target=_end_with_reader, args=(pipe,), daemon=True).start()
    return None


def supervised(command: Sequence[str], tell: Callable[[str], None]) -> int:
    """Run a command that measures, again whenever a configuration kills it; its exit status.

    A configuration under way when it dies is tried once more, for what kills a process may be damage that
    another one did; when it dies there twice in a row the configuration is recorded as failed (``runtime``).
    A death between configurations is forgiven too, once in a row.
    So every start measures or records something, and there is an end.

    Parameters
    ----------
    command : sequence of str
        Program and arguments.
    tell : callable
        Given a message whenever the command is started again.
    """
    began_s, suspect, in_between = monotonic(), None, False
    while True:
        status, words = _run(command, monotonic() - began_s)
        again = words is None and in_between
        in_between = words is None
        if status >= 0 or again or -status not in CRASHES:
            return status if status >= 0 else 128 - status
        if words is None:  # damage that an earlier configuration did shows only now
            tell(f"{DIED}{signal.Signals(-status).name} between configurations; tried again")
            continue
        path, row = words
        cause = f"{DIED}{signal.Signals(-status).name} while this was under way"
        suspect = _judged(path, row, cause, suspect)
        fate = "tried again" if suspect else "recorded, the rest goes on"
        tell(f"{row.kernel} {store.canonical(row.variant)}: {cause}; {fate}")


def _judged(path: Path, row: Measurement, cause: str, suspect: Key | None) -> Key | None:
    """Record the configuration if it is the one suspected already; who is suspected now."""
    if row.key != suspect:
        return row.key
    store.append(path, row.model_copy(update={"status": "runtime", "message": f"{cause}, twice"}))
    return None


def _run(command: Sequence[str], spent_s: float) -> tuple[int, Words | None]:
    """Run the command once: its return code (negative: signal), and what it said last, if that still holds."""
    reading, writing = os.pipe()
    environment = {**os.environ, PIPE: str(writing), SPENT: str(spent_s)}
    with os.fdopen(reading, "rb") as pipe:
        try:
            child = subprocess.Popen(command, env=environment, pass_fds=(writing,))
        finally:
            os.close(writing)
        last = b"null"
        while child.returncode is None:
            try:
                for line in pipe:
                    last = line
                child.wait()
            except KeyboardInterrupt:  # the terminal has told the child as well
                continue
    document = json.loads(last)
    return child.returncode, document and (Path(document["store"]), Measurement.model_validate(document["record"]))


@contextmanager
def under_way(path: Path, record: Callable[[], Measurement]) -> Iterator[None]:
    """Tell the supervisor, if there is one, what belongs into the store at `path` should this process die in here."""
    if PIPE not in os.environ:
        yield
        return
    _say({"store": str(path.absolute()), "record": record().model_dump(mode="json", by_alias=True)})
    try:
        yield
    finally:
        _say(None)


def spent_s() -> float:
    """What campaigns before this process have used of a budget [s]."""
    return float(os.environ.get(SPENT, "0"))


def died(row: Measurement) -> bool:
    """Whether a record is of a configuration that killed its process."""
    return row.status == "runtime" and row.message.startswith(DIED)


def _say(document: object) -> None:
    os.write(int(os.environ[PIPE]), json.dumps(document).encode() + b"\n")


def _end_with_reader(pipe: int) -> None:
    """End this process as soon as its supervisor is gone."""
    poll = select.poll()
    poll.register(pipe, 0)
    poll.poll()  # nothing is asked for, so that only the other end's closing wakes it
    os._exit(1)
