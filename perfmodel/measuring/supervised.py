"""A supervised campaign, which continues after a configuration that ends its process.

A kernel may end its process by SIGSEGV, and a driver with damaged memory by SIGABRT. The campaign therefore runs in a
child process. Before the child uses the device, the child writes to a pipe the record to add if the child dies
(:func:`under_way`). The supervisor starts the child again after each such death, but not after the user ends it. The
child also reports the start of printing, so that a result is printed once. Ctrl-C in a terminal reaches both processes,
and ``kill -INT`` reaches only one. The supervisor therefore passes interrupts on, and the child handles only the first
interrupt.
"""

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
from perfmodel.documents import canonical
from perfmodel.errors import DocumentError
from perfmodel.store import Key, Measurement
from perfmodel.store.lines import read_row

PIPE, STARTS, SPENT = "PERFMODEL_SUPERVISOR_PIPE", "PERFMODEL_STARTS", "PERFMODEL_SPENT_S"
"""Environment variables: the pipe's file descriptor, the size of each store at the start of this command [bytes], and
the time that earlier processes used [s]."""
CRASHES = frozenset({signal.SIGABRT, signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGFPE})
"""Signals of crashes; users end processes by other signals."""
INTERRUPTED = 128 + signal.SIGINT  # status of an interrupted process
DIED = "the process died of "  # start of the messages of records about deaths
INTERRUPT = "perfmodel: interrupted; a second Ctrl-C ends it at once, also in the middle of a kernel"

Report: TypeAlias = tuple[Path, Measurement]  # a store, and the record to append to it after a death


@dataclass
class _Child:
    """A child's reports, the exit status (-n: ended by signal n), and whether the child was interrupted."""

    status: int = 0
    interrupted: bool = False
    report: Report | None = None
    starts: dict[str, int] = field(default_factory=dict)
    printing: bool = False
    result: int | None = None  # None until everything is printed

    def read(self, line: bytes) -> None:
        """Read a line of the pipe. A process that dies may write half a line."""
        with suppress(ValueError):
            document = json.loads(line) or {"record": None}
            self.starts = document.get("starts", {}) | self.starts
            if "result" in document:
                self.printing, self.result = True, document["result"]
            if "record" in document:
                row = document["record"]
                self.report = row and (Path(document["store"]), Measurement.model_validate(row))


def supervise(command: Sequence[str], notify: Callable[[str], None]) -> int:
    """Run a command that measures, again after each crash, and return its exit status.

    The command calls :func:`follow_supervisor`. The function `notify` receives a message at each new start. The
    configuration under way is tried once more, because an earlier one may have damaged memory. If the process dies
    twice in a row at the same configuration, the configuration is recorded as failed (``runtime``). After two deaths
    between configurations, the command ends.
    """
    start_s, retried, between = monotonic(), None, False
    starts: dict[str, int] = {}
    recorded: set[Key] = set()
    while True:
        child = _run(command, {STARTS: json.dumps(starts), SPENT: str(monotonic() - start_s)}, notify)
        starts = child.starts | starts
        status = child.status if child.status >= 0 else 128 - child.status
        if child.interrupted:
            return INTERRUPTED
        if -child.status not in CRASHES:
            return status
        death = DIED + signal.Signals(-child.status).name
        if child.printing:
            moment = "while it printed its result; run it again" if child.result is None else "after its result"
            notify(f"{death} {moment}")
            return status if child.result is None else child.result
        again, between = child.report is None and between, child.report is None
        if again or (child.report is not None and child.report[1].key in recorded):
            return status  # another start would give nothing new
        if child.report is None:
            notify(f"{death} between configurations; tried again")
            continue
        path, row = child.report
        cause = f"{death} while this was under way"
        if row.key == retried:
            store.append(path, row.model_copy(update={"status": "runtime", "message": f"{cause}, twice"}))
            recorded.add(row.key)
        retried = None if row.key == retried else row.key
        action = "tried again" if retried else "recorded, the rest goes on"
        notify(f"{row.kernel} {canonical(row.variant)}: {cause}; {action}")


def _run(command: Sequence[str], variables: Mapping[str, str], notify: Callable[[str], None]) -> _Child:
    """Run the command once. The first interrupt is passed on, and the second kills the command."""
    reading, writing = os.pipe()
    environment = {**os.environ, **variables, PIPE: str(writing)}
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
                    notify(INTERRUPT)
    state.status, state.interrupted = child.returncode, interrupts > 0
    return state


def follow_supervisor() -> bool:
    """Return whether a supervisor started this process. If so, the process ends with the supervisor."""
    if PIPE not in os.environ:
        return False
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, _interrupt_once)
    pipe = int(os.environ[PIPE])
    os.set_inheritable(pipe, False)
    threading.Thread(target=_end_with_reader, args=(pipe,), daemon=True).start()
    return True


@contextmanager
def under_way(path: Path, record: Callable[[], Measurement]) -> Iterator[None]:
    """Report the record that a supervisor appends to the store at `path` if this process dies in the block."""
    if PIPE not in os.environ:
        yield
        return
    _report({"store": str(path.absolute()), "record": record().model_dump(mode="json", by_alias=True)})
    try:
        yield
    finally:
        _report(None)


def spent_s() -> float:
    """Return the time that earlier processes of this command used [s]."""
    return float(os.environ.get(SPENT, "0"))


def recorded_before(path: Path) -> tuple[Measurement, ...]:
    """Return records that earlier processes appended to a store. The first call only reports the size of the store."""
    if PIPE not in os.environ:
        return ()
    rows, _ = store.paths(path.absolute())
    starts = json.loads(os.environ.get(STARTS, "{}"))
    if str(rows) not in starts:
        _report({"starts": {str(rows): rows.stat().st_size if rows.exists() else 0}})
        return ()
    records = []
    with rows.open("rb") as file:
        file.seek(starts[str(rows)])
        for line in file:
            with suppress(DocumentError):  # `store.read` reports it
                records.append(read_row(line))
    return tuple(records)


def begin_result() -> None:
    """Report that the result is printed from now on, so that no other process prints it again."""
    end_result(None)


def end_result(status: int | None) -> None:
    """Report that everything is printed, with the exit status of this process."""
    if PIPE in os.environ:
        with suppress(OSError):  # the supervisor has ended, or belongs to a process above this one
            _report({"result": status})


def died(row: Measurement) -> bool:
    """Whether a record is about a configuration that ended its process."""
    return row.status == "runtime" and row.message.startswith(DIED)


def _report(document: object) -> None:
    os.write(int(os.environ[PIPE]), json.dumps(document).encode() + b"\n")


def _interrupt_once(number: int, frame: FrameType | None) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    raise KeyboardInterrupt


def _end_with_reader(pipe: int) -> None:
    poll = select.poll()
    poll.register(pipe, 0)
    poll.poll()  # without a requested event it returns only when the other end closes
    os._exit(1)
