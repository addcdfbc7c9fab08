"""``perfmodel worker``, which offers a device, and ``--scheduler``, which measures on those of Dask's workers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import IO, TYPE_CHECKING, Annotated, cast

import typer
from typer import Argument, Option

from perfmodel import measuring
from perfmodel.cli import output
from perfmodel.cli.options import DeviceName
from perfmodel.errors import AmbiguousDeviceError, OptionError

if TYPE_CHECKING:
    from perfmodel.opencl import Device

Address = Annotated[str, Argument(metavar="ADDRESS", help="Of a Dask scheduler, such as tcp://host:8786.")]
Listen = Annotated[
    str | None,
    Option(
        metavar="ADDRESS",
        help="IP address of this machine to listen on, 0.0.0.0 or :: for all of them. "
        "By default only the one that reaches the scheduler: 127.0.0.1 for tcp://127.0.0.1:8786.",
    ),
]
Authority = Annotated[Path | None, Option(metavar="FILE", help="Certificates of authorities, for tls:// (PEM).")]
Certificate = Annotated[Path | None, Option(metavar="FILE", help="This worker's certificate, for tls:// (PEM).")]
Key = Annotated[Path | None, Option(metavar="FILE", help="The certificate's private key, for tls:// (PEM).")]

SCHEMA = "perfmodel.worker/1"
WORKER_CLASS = "perfmodel.measuring.remote.device_worker.DeviceWorker"

#: Dask's sampling of a worker's stack would disturb what is timed.
_SETTINGS = {"DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False"}


def worker_command(
    address: Address, device: DeviceName = None, listen: Listen = None, tls_ca_file: Authority = None,
    tls_cert: Certificate = None, tls_key: Key = None,
) -> None:  # fmt: skip
    """Offer a device to 'perfmodel calibrate --scheduler ADDRESS': become a Dask worker that has it.

    It has one thread, and is started again by Dask where a kernel ends its process. Stop it with Ctrl-C.
    Whoever can connect to it can run programs as you, unless the scheduler's address is tls://.
    """
    from perfmodel.cluster import connected, reached_from, secured
    from perfmodel.opencl import find

    files = {"--tls-ca-file": tls_ca_file, "--tls-cert": tls_cert, "--tls-key": tls_key}
    _check(address, listen, files)
    security = secured(address, tls_ca_file=tls_ca_file, tls_worker_cert=tls_cert, tls_worker_key=tls_key)
    with connected(address, security=security) as client:
        protocol, host = reached_from(client)
    if protocol not in ("tcp", "tls"):
        raise OptionError(f"'{address}' is an address of {protocol}", "give the scheduler's one of tcp:// or tls://")
    host = listen or host
    measuring.pin_threads()
    target = find(device)
    arguments = worker_arguments(address, target.slug, host, files)
    command = [sys.executable, "-m", "distributed.cli.dask_worker", *arguments]
    if output.settings().json:
        output.print_document({
            "schema": SCHEMA, "device": target.name, "platform": target.platform, "slug": target.slug,
            "index": target.index, "listen": host, "encrypted": protocol == "tls", "command": command,
        })  # fmt: skip
    else:
        typer.echo(f"offering {target.name} ({target.platform}): dask worker {' '.join(arguments)}", err=True)
        typer.echo(_heard(host, protocol), err=True)
    sys.stdout.flush()
    sys.stderr.flush()
    environment = {**_SETTINGS, **os.environ, measuring.remote.workers.OWN_DEVICE: str(target.index)}
    os.execve(sys.executable, command, environment)


def worker_arguments(address: str, slug: str, host: str, files: Mapping[str, Path | None]) -> list[str]:
    """Return the arguments of ``dask worker`` for a device: `host` is to be listened on, `files` are those for TLS.

    Examples
    --------
    >>> arguments = worker_arguments("tcp://host:8786", "nvidia-h200", "192.168.1.5", {})
    >>> " ".join(arguments[:3])
    'tcp://host:8786 --host 192.168.1.5'
    >>> " ".join(arguments[5:])
    '--nworkers 1 --nthreads 1 --memory-limit 0 --no-dashboard --resources perfmodel:nvidia-h200=1'
    """
    # Without a limit of memory: Dask would end a worker whose buffers fill most of it, and condemn a configuration.
    return [
        address, "--host", f"[{host}]" if ":" in host else host, "--worker-class", WORKER_CLASS,
        "--nworkers", "1", "--nthreads", "1", "--memory-limit", "0", "--no-dashboard",
        *(text for option, file in files.items() if file is not None for text in (option, str(file))),
        "--resources", f"{measuring.remote.workers.resource(slug)}=1",
    ]  # fmt: skip


def _check(address: str, listen: str | None, files: Mapping[str, Path | None]) -> None:
    """Refuse files for TLS with an address without it, and an address to listen on that is none of this machine."""
    given = [option for option, file in files.items() if file is not None]
    if given and not address.startswith("tls://"):
        problem = f"{' and '.join(given)} {'was' if len(given) == 1 else 'were'} given with the address '{address}'"
        raise OptionError(problem, "give the scheduler's address with tls:// before it, as tls://host:8786")
    if listen is None:
        return
    import asyncio
    from ipaddress import ip_address

    async def listened() -> None:
        (await asyncio.start_server(lambda *_: None, listen, 0)).close()

    try:
        ip_address(listen)
        asyncio.run(listened())
    except (OSError, ValueError) as error:
        advice = "give one, as 192.168.1.5, or leave it out to listen on the one that reaches the scheduler"
        raise OptionError(f"--listen '{listen}' is no IP address of this machine ({error})", advice) from error


def _heard(host: str, protocol: str) -> str:
    """Say in one line who can connect to a worker that listens on an address."""
    from ipaddress import ip_address

    where = "all addresses of this machine" if ip_address(host).is_unspecified else host
    if protocol == "tls":
        return f"listening on {where} by TLS: who has a certificate of the same authority can run programs as you"
    return (
        f"listening on {where}, neither encrypted nor authenticated: who can connect there can run programs as you; "
        "TLS prevents that (--tls-ca-file, --tls-cert, --tls-key)"
    )


#: Devices by their lock: those of one list are measured in turn.
Turns = Sequence[Sequence[str]]

#: Signals that end this process: Ctrl-C, the end of a job, the end of a terminal.
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def target_device(scheduler: str | None, selector: str | None) -> Iterator[Device]:
    """Give the device that is meant: of this machine, or of a scheduler's workers."""
    if scheduler is None:
        from perfmodel.opencl import find

        yield find(selector)
        return
    from perfmodel.cluster import connected

    with connected(scheduler) as client:
        yield measuring.remote.workers.workers_device(client, selector)


def run_for_each_device(
    context: typer.Context, scheduler: str | None, selector: str | None, single: Mapping[str, bool]
) -> None:
    """Run this command once for each device of the workers, and end with the worst status; return if it is for one.

    Devices that share a lock, as the drivers of one processor do, have their turns; others run at the same time.
    `single` says of each option that is for one device only whether it was given.
    """
    if scheduler is None:
        return
    if selector is not None:
        if selector.strip().isdecimal():
            problem = f"--device {selector} is an index, and --scheduler was given"
            raise OptionError(problem, "give the device's name: each worker's machine has indices of its own")
        return
    from perfmodel.cluster import connected

    with connected(scheduler) as client:
        lists = measuring.remote.workers.turns(client)
    slugs = sorted(slug for turn in lists for slug in turn)
    if len(slugs) < 2:
        return
    if option := next((name for name, given in single.items() if given), None):
        problem = f"{option} was given with --scheduler, whose workers have {len(slugs)} devices"
        raise OptionError(problem, f"give --device too, one of {', '.join(slugs)}")
    if not context.obj:
        raise AmbiguousDeviceError("", tuple(slugs))
    raise typer.Exit(run_in_turns(context.obj, lists))


def run_in_turns(command: Sequence[str], turns: Turns) -> int:
    """Run a command with ``--device`` for each device; one after another in each list, the lists at the same time.

    What it says on standard error is passed on with the device's name in front, its result as a whole at its end.
    An interrupt is passed on once, and a second one kills; a signal that ends this process ends the commands too.
    The largest status is returned; that of a process which a signal ends, where one did.
    """
    children = _Children()

    def run(turn: Sequence[str]) -> int:
        return max((run_one(slug) for slug in turn), default=0)

    def run_one(slug: str) -> int:
        child = children.begin([*command, "--device", slug])
        if child is None:
            return 0
        with child, ThreadPoolExecutor(1) as reader:
            result = reader.submit(cast(IO[str], child.stdout).read)
            for line in cast(IO[str], child.stderr):
                print(f"{slug}: {line}", end="", file=sys.stderr, flush=True)
            print(result.result(), end="", flush=True)
        children.ended(child)
        return child.returncode if child.returncode >= 0 else 128 - child.returncode

    with children.told_of_signals(), ThreadPoolExecutor(len(turns)) as pool:
        statuses = [pool.submit(run, turn) for turn in turns]
        wait(statuses)
    if children.signals[:1] == [signal.SIGINT]:
        raise KeyboardInterrupt
    if children.signals:
        return 128 + children.signals[0]
    return max(status.result() for status in statuses)


class _Children:
    """The commands that run; none begins after a signal."""

    def __init__(self) -> None:
        self.signals: list[int] = []  # those that came, in their order
        self._running: set[subprocess.Popen[str]] = set()
        self._mutex = threading.RLock()  # a second signal may come while the first one is handled

    def begin(self, command: Sequence[str]) -> subprocess.Popen[str] | None:
        """Begin a command in a session of its own, so that Ctrl-C in a terminal reaches it by this process only."""
        with self._mutex:
            if self.signals:
                return None
            child = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                errors="replace", start_new_session=True,
            )  # fmt: skip
            self._running.add(child)
            return child

    def ended(self, child: subprocess.Popen[str]) -> None:
        """Forget a command that has ended."""
        with self._mutex:
            self._running.discard(child)

    @contextmanager
    def told_of_signals(self) -> Iterator[None]:
        """Pass on signals that come during the block, but for those that this process ignores."""
        mine = threading.current_thread() is threading.main_thread()  # others cannot handle signals
        handled = [number for number in _ENDING if mine and signal.getsignal(number) is not signal.SIG_IGN]
        before = {number: signal.signal(number, self._pass_on) for number in handled}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _pass_on(self, number: int, frame: FrameType | None) -> None:
        """Interrupt the commands, which pass that on themselves; end them with all that they began on other signals."""
        with self._mutex:
            self.signals.append(number)
            for child in self._running:
                with suppress(ProcessLookupError):
                    if len(self.signals) > 1:
                        os.killpg(child.pid, signal.SIGKILL)
                    elif number == signal.SIGINT:
                        child.send_signal(signal.SIGINT)
                    else:
                        os.killpg(child.pid, signal.SIGTERM)
