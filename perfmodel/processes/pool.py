"""Variants spread over processes: loky's on this machine, as joblib has them, or the workers of a Dask cluster.

The cluster is that of the block of joblib's ``parallel_config(backend="dask")`` that is in force. joblib's own loop is
not used: with Dask it waits for ever for a variant that kills its worker, and with loky it does not tell which one that
was.

Where a process dies, what was under way is done again, one variant after the other and nothing beside it, so that the
one that kills its process is known: it gets an error. isl and Loopy keep about half a megabyte of each kernel and never
give it back: loky replaces a process of this machine that grew by 300 MB.
"""

from __future__ import annotations

import os
import signal
import threading
import warnings
from collections import deque
from collections.abc import Callable, Collection, Generator, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, nullcontext, suppress
from operator import index
from typing import Any

import cloudpickle

from perfmodel import errors, progress as reports
from perfmodel.counts.unused import report
from perfmodel.processes.variants import CountedVariants, Outcome, Task, Variant, attempt, packed, received, work

SENT = 2
"""Variants sent to each process: one that it does, and one to go on with."""
MOST = 64
"""Most variants for each process that may be done before the one that all others wait for."""
#: Environment variables by which libraries learn how many threads they may start.
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")
SEED = "6640"
"""Of Python's hashes, by which Loopy orders some of what it unrolls; Dask gives its workers the same."""
COMES_S = 10.0
"""How long to wait for the first worker of a cluster [s]."""
CORES: frozenset[int] = frozenset(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else frozenset()
"""The cores that this process could use when it started; empty where the system does not report them."""


class Pool:
    """Spreads variants over so many processes as `jobs`, or does them in this one; -1 is one for each core, 1 this one.

    There are never more than variants. `progress` is told of each variant that is done; True shows a bar.
    """

    def __init__(self, jobs: int, progress: reports.Progress | bool | None = None) -> None:
        self.jobs = checked_jobs(jobs)
        self.progress = reports.shown(progress)

    @property
    def alone(self) -> bool:
        """Whether all is done in this process."""
        return self.jobs == 1

    def each(self, task: Task, variants: Mapping[str, Variant], title: str) -> dict[str, Any]:
        """Do a task with each variant; return by name, in their order, what it returned or the error it raised."""
        return dict(self.stream(task, variants, title))

    def stream(
        self, task: Task, variants: Mapping[str, Variant], title: str, most: int = MOST
    ) -> Generator[tuple[str, Any], None, None]:
        """Do a task with each variant; yield name and value, or error, in the variants' order, as soon as it is there.

        So many results of a process as `most` may wait for an earlier one: fewer where what the task returns is large.
        """
        with reports.task(self.progress, title, len(variants)):
            if self.alone:
                for name in variants:
                    value = attempt(task, name, variants[name])
                    self.progress.advance(_note(name, value))
                    yield name, value
            elif variants:
                with processes_for(self.jobs, len(variants)) as processes:
                    ahead = processes.count * max(SENT, min(most, MOST))
                    course = _SentTasks(task, variants, ahead, processes, self.progress)
                    try:
                        yield from course.results()
                    finally:
                        course.cancel()


def checked_jobs(jobs: Any) -> int:
    """Return a number of jobs as an integer; raise JobsError if it is 0 or none."""
    try:
        number = index(jobs)
    except TypeError:
        number = 0
    if isinstance(jobs, bool) or number == 0:
        raise errors.JobsError(jobs)
    return number


class _SentTasks:
    """What has been sent to processes, and what has come back."""

    def __init__(
        self, task: Task, variants: Mapping[str, Variant], ahead: int, processes: OwnProcesses,
        progress: reports.Progress,
    ) -> None:  # fmt: skip
        self._variants, self._names, self._ahead = variants, tuple(variants), ahead
        self._processes, self._progress = processes, progress
        self._task = processes.shared(cloudpickle.dumps(task))
        self._waiting = deque(range(len(self._names)))
        self._suspects = 0  # so many of the first that wait or were sent: one of them may have killed a process
        self._sent: dict[Future[Outcome], int] = {}
        self._values: dict[int, Any] = {}  # what waits for an earlier one
        self._told: set[tuple[type[Warning], str]] = set()

    def results(self) -> Iterator[tuple[str, Any]]:
        """Yield name and value, or error, of each variant."""
        for place, name in enumerate(self._names):
            while place not in self._values:
                room = 1 if self._suspects else SENT * self._processes.count
                if self._waiting and len(self._sent) < room and self._waiting[0] - place < self._ahead:
                    self._send(self._waiting.popleft())
                else:
                    self._receive()
            yield name, self._values.pop(place)
        if gone := self._processes.gone():
            _warn(f"{gone} of the cluster ended meanwhile: what they had not finished was done by others")

    def cancel(self) -> None:
        """Give up what has been sent and is not done."""
        for future in self._sent:
            future.cancel()

    def _send(self, place: int) -> None:
        name, variants = self._names[place], self._variants
        try:
            parcel = packed(name, variants.stored(name) if isinstance(variants, CountedVariants) else variants[name])
            self._sent[self._processes.submit(work, self._task, parcel)] = place
        except errors.UnpicklableVariantError as error:
            self._keep(place, error)
        except Exception as error:
            if not is_death(error):
                raise
            self._waiting.appendleft(place)
            if lost := self._finished({*self._sent}):
                self._mourn(lost)
            else:  # a process died while it had nothing to do
                self._processes.end(kill=True)

    def _receive(self) -> None:
        """Wait for a variant; where its process died, for all that was sent."""
        done, _ = wait(self._sent, return_when=FIRST_COMPLETED)
        if lost := self._finished(done):
            self._mourn(lost + self._finished({*self._sent}))

    def _finished(self, futures: Collection[Future[Outcome]]) -> list[int]:
        """Keep what came of variants, once all are done; return those whose process died."""
        lost = []
        for future in wait(futures)[0]:
            place = self._sent.pop(future)
            try:
                outcome = future.result()
                value, told = received(self._names[place], outcome)
            except CancelledError as error:  # only a lost scheduler does that
                raise errors.SchedulerError(self._processes.address, "the connection is lost") from error
            except Exception as error:
                if not is_death(error):
                    raise
                lost.append(place)
            else:
                self._keep(place, value)
                report(*outcome.unused)
                for category, text in {*told} - self._told:
                    self._told.add((category, text))
                    _warn(text, category)
        return lost

    def _keep(self, place: int, value: Any) -> None:
        self._suspects = max(0, self._suspects - 1)
        self._values[place] = value
        self._progress.advance(_note(self._names[place], value))

    def _mourn(self, lost: list[int]) -> None:
        """Say that a process died, and suspect what it may have done; a suspect that was alone gets an error."""
        self._processes.end(kill=True)
        if self._suspects:
            (place,) = lost
            self._keep(place, errors.WorkerDiedError(self._names[place]))
            return
        self._suspects = len(lost)
        self._waiting.extendleft(sorted(lost, reverse=True))
        again = f"{len(lost)} of {len(self._names)} variants were under way and are done again, the rest goes on"
        _warn(f"a process was killed or crashed: {again}")


def _note(name: str, value: Any) -> str:
    return reports.FailedStep(name, value) if isinstance(value, errors.PerfModelError) else name


def _warn(text: str, category: type[Warning] = errors.WorkerDiedWarning) -> None:
    warnings.warn(text, category, stacklevel=2)


class OwnProcesses:
    """Processes of this machine: loky's, with the machine's threads shared between `count` of them."""

    address = ""

    def __init__(self, count: int) -> None:
        self.count = count
        self._executor: Any = None

    def shared(self, value: bytes) -> Any:
        """Return what stands for a value as an argument of many calls."""
        return value

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Call a function in one of the processes; arguments are pickled. The first call begins the processes."""
        with nullcontext() if self._executor is not None else _beginning():
            self._executor = self._executor or self._begun()
            later: Future[Any] = self._executor.submit(function, *arguments)
            return later

    def _begun(self) -> Any:
        from joblib import cpu_count
        from joblib.externals.loky import ProcessPoolExecutor

        threads = str(max(1, cpu_count() // self.count))
        wanted = {**dict.fromkeys(THREADS, threads), "PYTHONHASHSEED": SEED}
        environment = {name: os.environ.get(name, value) for name, value in wanted.items()}
        ignoring = {"initializer": signal.signal, "initargs": (signal.SIGINT, signal.SIG_IGN)}  # also in later ones
        return ProcessPoolExecutor(self.count, env=environment, **ignoring)

    def end(self, kill: bool = False) -> None:
        """End the processes once they are idle, or at once; the next call begins new ones."""
        executor, self._executor = self._executor, None
        if executor is not None:
            executor.shutdown(wait=True, kill_workers=kill)

    def gone(self) -> str:
        """Name workers of a cluster that ended meanwhile, and that others replaced; an empty text for none."""
        return ""


class ClusterProcesses(OwnProcesses):
    """The workers of a Dask cluster, each as one process, at most `most`; those that die are replaced by Dask.

    Raises EmptyClusterError where no worker comes soon, and what :func:`perfmodel.cluster.check_versions` raises.
    """

    def __init__(self, client: Any, most: int) -> None:
        import asyncio  # these only here: most programs have no cluster, and need not wait for them at their start

        from perfmodel import cluster

        self._client, self.address = client, cluster.address_of(client)
        try:
            client.wait_for_workers(1, timeout=COMES_S)
        except (asyncio.TimeoutError, TimeoutError) as error:
            raise errors.EmptyClusterError(self.address, COMES_S) from error
        self._before = {*client.nthreads()}
        cluster.check_versions(client, sorted(self._before))
        super().__init__(min(len(self._before), most))
        self._executor = client.get_executor(pure=False)

    def shared(self, value: bytes) -> Any:
        """Return a future of the value: it travels to each worker once, and again to one that takes over."""
        return self._client.submit(bytes, value, pure=False)

    def end(self, kill: bool = False) -> None:
        """Do nothing: the cluster is the user's."""

    def gone(self) -> str:
        """Name the workers that ended since the beginning."""
        from perfmodel import cluster

        names: list[str] = []
        with suppress(errors.SchedulerError), cluster.asking(self._client):  # if it is lost now, all results are there
            names = sorted(self._before - {*self._client.nthreads()})
        shown = f"{', '.join(names[:3])}{', ...' * (len(names) > 3)}"
        return f"{len(names)} of {len(self._before)} workers ({shown})" if names else ""


@contextmanager
def processes_for(jobs: int, most: int) -> Iterator[OwnProcesses]:
    """Give processes for so many jobs, at most so many; this machine's end with the block, at once where it raises."""
    from joblib import effective_n_jobs
    from joblib.parallel import get_active_backend

    warnings.filterwarnings("ignore", "A worker stopped while some jobs", UserWarning)  # loky's, where it replaces it
    client = getattr(get_active_backend()[0], "client", None)  # of Dask
    if client is not None:
        processes: OwnProcesses = ClusterProcesses(client, min(jobs, most) if jobs > 0 else most)
    else:
        with all_cores():
            processes = OwnProcesses(max(1, min(int(effective_n_jobs(jobs)), most)))
    with _ended(processes):
        yield processes


@contextmanager
def processes_here(wanted: int, most: int | None = None) -> Iterator[OwnProcesses | None]:
    """Give `wanted` processes of this machine, at most `most` and one for each core; None where one would do.

    They end with the block, at once where it raises.
    """
    from joblib import cpu_count

    with all_cores():
        count = min(wanted, int(cpu_count()), most or wanted)
    if count < 2:
        yield None
        return
    processes = OwnProcesses(count)
    with _ended(processes):
        yield processes


@contextmanager
def all_cores() -> Iterator[None]:
    """Let this thread, and processes that start in the block, use all cores: PoCL binds the thread that runs a kernel.

    Only Linux binds threads; elsewhere nothing is done.
    """
    bound = os.sched_getaffinity(0) if CORES else set()
    if CORES:
        os.sched_setaffinity(0, CORES)
    try:
        yield
    finally:
        if CORES:
            os.sched_setaffinity(0, bound)


@contextmanager
def _ended(processes: OwnProcesses) -> Iterator[None]:
    """End processes with the block, at once where it raises."""
    try:
        yield
    except BaseException:
        with _interrupts_held():
            processes.end(kill=True)
        raise
    processes.end()


@contextmanager
def _beginning() -> Iterator[None]:
    with _interrupts_held(), all_cores():
        yield


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Begin or end processes undisturbed by Ctrl-C, which is heard afterwards.

    Processes that begin here never hear it, and print no tracebacks: this process ends them.
    """
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGINT) is None:
        yield
        return
    heard: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: heard.append(number))
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # processes and threads that begin inherit it
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        signal.signal(signal.SIGINT, before)
        if heard:
            signal.raise_signal(signal.SIGINT)


def is_death(error: BaseException) -> bool:
    """Whether a call's error says that its process died: one of this machine, or several of a cluster in a row."""
    return isinstance(error, BrokenProcessPool) or type(error).__name__ == "KilledWorker"
