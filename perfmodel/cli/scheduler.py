"""``--scheduler``: measuring on the devices of Dask workers, several of them at once."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import IO, TYPE_CHECKING, Annotated, cast

import typer

from perfmodel.errors import AmbiguousDeviceError, OptionError

if TYPE_CHECKING:
    from perfmodel.opencl import Device

Scheduler = Annotated[
    str | None,
    typer.Option(
        "--scheduler", metavar="ADDRESS",
        help="Measure on the devices of this Dask scheduler's workers (perfmodel worker); on all without --device.",
    ),
]  # fmt: skip

#: Devices by their lock: those of one list are measured in turn.
Turns = Sequence[Sequence[str]]


@contextmanager
def target_device(scheduler: str | None, selector: str | None) -> Iterator[Device]:
    """Give the device that is meant: of this machine, or of a scheduler's workers.

    Raises
    ------
    NoDeviceError, UnknownDeviceError, BrokenDeviceError
        As :func:`perfmodel.opencl.find` does.
    SchedulerError, NoWorkerError, AmbiguousDeviceError, WorkerVersionError
        As :func:`perfmodel.measuring.workers.bench.workers_device` does.
    """
    if scheduler is None:
        from perfmodel.opencl import find

        yield find(selector)
        return
    from perfmodel.cluster import connected
    from perfmodel.measuring.workers.bench import workers_device

    with connected(scheduler) as client:
        yield workers_device(client, selector)


def run_for_each_device(
    context: typer.Context, scheduler: str | None, selector: str | None, single: Mapping[str, bool]
) -> None:
    """Run this command once for each device of the workers, and end with the worst status; return if it is for one.

    Devices that share a lock, as the drivers of one processor do, have their turns; others run at the same time.

    Parameters
    ----------
    context : typer.Context
        It holds the command that runs this program again.
    scheduler, selector : str, optional
        What ``--scheduler`` and ``--device`` give.
    single : mapping
        By each option that is for one device only, whether it was given.

    Raises
    ------
    OptionError
        Such an option was given for several devices, or ``--device`` is an index.
    """
    if scheduler is None:
        return
    if selector is not None:
        if selector.strip().isdecimal():
            told = f"--device {selector} is an index, and --scheduler was given"
            raise OptionError(told, "give the device's name: each worker's machine has indices of its own")
        return
    from perfmodel.cluster import connected
    from perfmodel.measuring.workers.turns import turns

    with connected(scheduler) as client:
        found = turns(client)
    slugs = sorted(slug for turn in found for slug in turn)
    if len(slugs) < 2:
        return
    if option := next((name for name, given in single.items() if given), None):
        told = f"{option} was given with --scheduler, whose workers have {len(slugs)} devices"
        raise OptionError(told, f"give --device too, one of {', '.join(slugs)}")
    if not context.obj:
        raise AmbiguousDeviceError("", tuple(slugs))
    raise typer.Exit(run_in_turns(context.obj, found))


def run_in_turns(command: Sequence[str], turns: Turns) -> int:
    """Run a command with ``--device`` for each device; one after another in each list, the lists at the same time.

    What it says on standard error is passed on with the device's name in front, its result as a whole at its end.
    An interrupt is passed on once.

    Returns
    -------
    int
        The largest status.
    """
    running: set[subprocess.Popen[str]] = set()
    stopped = False

    def run(turn: Sequence[str]) -> int:
        return max((run_one(slug) for slug in turn if not stopped), default=0)

    def run_one(slug: str) -> int:
        # In a session of its own, so that Ctrl-C in a terminal reaches it once only.
        child = subprocess.Popen(
            [*command, "--device", slug], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, errors="replace", start_new_session=True,
        )  # fmt: skip
        running.add(child)
        with child, ThreadPoolExecutor(1) as reader:
            result = reader.submit(cast(IO[str], child.stdout).read)
            for line in cast(IO[str], child.stderr):
                print(f"{slug}: {line}", end="", file=sys.stderr, flush=True)
            print(result.result(), end="", flush=True)
        running.discard(child)
        return child.returncode if child.returncode >= 0 else 128 - child.returncode

    with ThreadPoolExecutor(len(turns)) as pool:
        waiting = [pool.submit(run, turn) for turn in turns]
        try:
            return max(one.result() for one in waiting)
        except BaseException:
            stopped = True
            for child in list(running):
                with suppress(ProcessLookupError):
                    child.send_signal(signal.SIGINT)
            raise
