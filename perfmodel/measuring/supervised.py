"""A supervised campaign: it goes on after a configuration that ends its process.

Python cannot catch what a driver does to its process: a kernel may end it by SIGSEGV, and a driver that finds
its memory damaged by SIGABRT.  So the campaign runs in a child process.  Before the child touches the device, it
writes to a pipe what to record if it dies (:func:`under_way`).  The supervisor starts the child again as long as
it dies in this way (:func:`supervise`).  A process that the user ends is not started again.

A child says when it begins to print its result, and with which status it ends once all is printed: from then on
it is not started again, so that a result is printed once.

Ctrl-C in a terminal reaches both processes, ``kill -INT`` only one.  So the supervisor passes its interrupts on, and
the child takes the first one only.

A campaign on a Dask worker has its caller for a supervisor (:func:`supervised_by`); there is no pipe.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from types import FrameType
from typing import TypeAlias

from perfmodel import store
from perfmodel.errors import DocumentError
from perfmodel.store import Key, Measurement
from perfmodel.store.lines import read_row

#: Environment variables: file descriptor of the pipe, where in each store the records of this command begin [bytes],
#: and time used of a budget by processes before this one [s].
PIPE, BEGINS, SPENT = "PERFMODEL_SUPERVISOR_PIPE", "PERFMODEL_BEGINS", "PERFMODEL_SPENT_S"
#: Signals that end a process which crashes; a user ends it by others.
CRASHES = frozenset({signal.SIGABRT, signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGFPE})
#: Status of a process that was interrupted.
INTERRUPTED = 128 + signal.SIGINT
#: Messages of such records begin with this text.
DIED = "the process died of "

#: The store, and what to record in it.
Report: TypeAlias = tuple[Path, Measurement]


#: What :func:`supervise` says at the first interrupt.
INTERRUPT = "perfmodel: interrupted; a second Ctrl-C ends it at once, also in the middle of a kernel"


@dataclass(frozen=True)
class Supervisor:
    """Another process that learns what is under way, and goes on where this one dies.

    `begins` says where in each store the records of its command begin [bytes], `spent_s` how much time of a budget
    processes before this one used [s].
    """

    report: Callable[[object], None]
    begins: Mapping[str, int]
    spent_s: float


#: That of a campaign on a Dask worker.
_caller: Supervisor | None = None


def _supervisor() -> Supervisor | None:
    """Return this process's supervisor: its caller, or the one that started it."""
    if _caller is not None or PIPE not in os.environ:
        return _caller
    return Supervisor(_write, json.loads(os.environ.get(BEGINS, "{}")), float(os.environ.get(SPENT, "0")))


@contextmanager
def supervised_by(caller: Supervisor) -> Iterator[None]:
    """Let a caller supervise what is done in the block."""
    global _caller
    _caller = caller
    try:
        yield
    finally:
        _caller = None


@dataclass
class _Child:
    """What a child reported, and how it ended: its status (negative: a signal), and whether it was interrupted.

    The report is of what was under way last.  A result is printed as soon as its printing has begun; its status is
    None until all is printed.
    """

    status: int = 0
    interrupted: bool = False
    report: Report | None = None
    begins: dict[str, int] = field(default_factory=dict)
    printing: bool = False
    result: int | None = None

    def read(self, line: bytes) -> None:
        """Take a line of the pipe; half a line is of a child that died while it wrote."""
        with suppress(ValueError):
            document = json.loads(line) or {"record": None}
            self.begins = document.get("begins", {}) | self.begins
            if "result" in document:
                self.printing, self.result = True, document["result"]
            if "record" in document:
                row = document["record"]
                self.report = row and (Path(document["store"]), Measurement.model_validate(row))


def follow_supervisor() -> bool:
    """Return whether a supervisor started this process; if so, the process ends as soon as the supervisor does."""
    if PIPE not in os.environ:
        return False
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:  # not where the caller ignores it
        signal.signal(signal.SIGINT, _interrupt_once)
    pipe = int(os.environ[PIPE])
    os.set_inheritable(pipe, False)
    threading.Thread(target=_end_with_reader, args=(pipe,), daemon=True).start()
    return True


def supervise(command: Sequence[str], tell: Callable[[str], None]) -> int:
    """Run a command that measures, again whenever a configuration ends it, and return its exit status.

    The program calls :func:`follow_supervisor`; `tell` takes a message whenever it is started again. A configuration
    that was under way when the process died is tried once more, since an earlier configuration may have caused the
    damage. If the process dies there twice in a row, the configuration is recorded as failed (``runtime``). A process
    that leaves in the middle of one, by ``os._exit``, dies too. A death between configurations is also followed by one
    new start, if the start before did not end in the same way. So every start measures or records something, and there
    is an end.
    """
    began_s, suspect, in_between = monotonic(), None, False
    begins: dict[str, int] = {}
    recorded: set[Key] = set()
    while True:
        child = _run(command, {BEGINS: json.dumps(begins), SPENT: str(monotonic() - began_s)}, tell)
        status, report, begins = child.status, child.report, child.begins | begins
        if child.interrupted:
            return INTERRUPTED
        again = report is None and in_between
        in_between = report is None
        left = status >= 0 and report is not None  # by os._exit, which no exception tells
        if not (left or -status in CRASHES):
            return status if status >= 0 else 128 - status
        death = DIED + (f"os._exit({status})" if left else signal.Signals(-status).name)
        if child.printing:
            whole = child.result is not None
            moment = "after it printed its result" if whole else "while it printed its result; run it again"
            tell(f"{death} {moment}")
            return child.result if child.result is not None else 128 + abs(status)
        if again or (report is not None and report[1].key in recorded):  # nothing new would come of another start
            return status if status >= 0 else 128 - status
        if report is None:  # damage that an earlier configuration did shows only now
            tell(f"{death} between configurations; tried again")
            continue
        path, row = report
        cause = f"{death} while this was under way"
        suspect = _judge(path, row, cause, suspect)
        recorded |= set() if suspect else {row.key}
        fate = "tried again" if suspect else "recorded, the rest goes on"
        tell(f"{row.kernel} {store.canonical(row.variant)}: {cause}; {fate}")


def _judge(path: Path, row: Measurement, cause: str, suspect: Key | None) -> Key | None:
    """Record the configuration if it was suspected before; return the key of the one that is suspected now."""
    if row.key != suspect:
        return row.key
    store.append(path, row.model_copy(update={"status": "runtime", "message": f"{cause}, twice"}))
    return None


def _run(command: Sequence[str], told: Mapping[str, str], tell: Callable[[str], None]) -> _Child:
    """Run the command once; the second interrupt kills it, where the first does not end it."""
    reading, writing = os.pipe()
    environment = {**os.environ, **told, PIPE: str(writing)}
    state, interrupts = _Child(), 0
    with os.fdopen(reading, "rb") as pipe:
        try:
            child = subprocess.Popen(command, env=environment, pass_fds=(writing,))
        finally:
            os.close(writing)
        while child.returncode is None:
            try:
                for line in pipe:
                    state.read(line)
                child.wait()
            except KeyboardInterrupt:
                interrupts += 1
                child.send_signal(signal.SIGKILL if interrupts > 1 else signal.SIGINT)
                if interrupts == 1:
                    tell(INTERRUPT)
    state.status, state.interrupted = child.returncode, interrupts > 0
    return state


@contextmanager
def under_way(path: Path, record: Callable[[], Measurement]) -> Iterator[None]:
    """Report to a supervisor what to record in the store at `path` if this process dies in the block."""
    if (supervisor := _supervisor()) is None:
        yield
        return
    supervisor.report({"store": str(path.absolute()), "record": record().model_dump(mode="json", by_alias=True)})
    try:
        yield
    finally:
        supervisor.report(None)


@contextmanager
def named(name: str) -> Iterator[None]:
    """Report to a caller what is under way, where that has no record."""
    if _caller is None:
        yield
        return
    _caller.report({"name": name})
    try:
        yield
    finally:
        _caller.report(None)


def spent_s() -> float:
    """Time of a budget that processes before this one used [s]."""
    supervisor = _supervisor()
    return 0.0 if supervisor is None else supervisor.spent_s


def recorded_before(path: Path) -> tuple[Measurement, ...]:
    """Return what processes of this supervised command recorded in a store before this one, in their order.

    The first that asks only notes where the store ends: clocks may be set back, and records of one second are alike.
    """
    if (supervisor := _supervisor()) is None:
        return ()
    rows, _ = store.paths(path.absolute())
    if str(rows) not in supervisor.begins:
        supervisor.report({"begins": {str(rows): rows.stat().st_size if rows.exists() else 0}})
        return ()
    records = []
    with rows.open("rb") as file:
        file.seek(supervisor.begins[str(rows)])
        for line in file:
            with suppress(DocumentError):  # `store.read` reports it
                records.append(read_row(line))
    return tuple(records)


def begin_result() -> None:
    """Tell a supervisor that the result is printed from now on, so that no other process prints it again."""
    end_result(None)


def end_result(status: int | None) -> None:
    """Tell a supervisor that all is printed, and with which status this process ends."""
    if PIPE in os.environ:
        with suppress(OSError):  # the supervisor has ended, or it is that of a process above this one
            _write({"result": status})


def died(row: Measurement) -> bool:
    """Whether a record is of a configuration that ended its process."""
    return row.status == "runtime" and row.message.startswith(DIED)


def _write(document: object) -> None:
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
