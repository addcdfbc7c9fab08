"""The processes that work: loky's on this machine, or those of a Dask cluster.

The cluster is that of the block of joblib's ``parallel_config(backend="dask")`` that is in force.
"""

from __future__ import annotations

import os
import signal
import threading
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any

from perfmodel.errors import EmptyClusterError, SchedulerError

#: Environment variables by which libraries learn how many threads they may start.
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")
SEED = "6640"
"""Of Python's hashes, by which Loopy orders some of what it unrolls; Dask gives its workers the same."""
COMES_S = 10.0
"""How long to wait for the first worker of a cluster [s]."""


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
        if self._executor is not None:
            later: Future[Any] = self._executor.submit(function, *arguments)
            return later
        from joblib import cpu_count
        from joblib.externals.loky import ProcessPoolExecutor

        threads = str(max(1, cpu_count() // self.count))
        environment = {**dict.fromkeys(THREADS, threads), "PYTHONHASHSEED": SEED}
        kept = {name: os.environ[name] for name in environment if name in os.environ}
        ignoring = {"initializer": signal.signal, "initargs": (signal.SIGINT, signal.SIG_IGN)}  # also in later ones
        self._executor = ProcessPoolExecutor(self.count, env={**environment, **kept}, **ignoring)
        with _interrupts_held():
            first: Future[Any] = self._executor.submit(function, *arguments)
        return first

    def end(self, kill: bool = False) -> None:
        """End the processes once they are idle, or at once; the next call begins new ones."""
        executor, self._executor = self._executor, None
        if executor is not None:
            executor.shutdown(wait=True, kill_workers=kill)

    def gone(self) -> str:
        """Name workers of a cluster that ended meanwhile, and that others replaced; an empty text for none."""
        return ""


class ClusterProcesses(OwnProcesses):
    """The workers of a Dask cluster, each as one process; those that die are replaced by Dask.

    Parameters
    ----------
    client : distributed.Client
        Of the scheduler.
    most
        How many may be used at once; None for all.

    Raises
    ------
    EmptyClusterError
        There is no worker, nor comes one soon.
    WorkerVersionError
        A worker has other versions than this process.
    SchedulerError
        The scheduler does not answer any more.
    """

    def __init__(self, client: Any, most: int | None = None) -> None:
        import asyncio  # these only here: most programs have no cluster, and need not wait for them at their start

        from perfmodel.cluster import address_of, check_versions

        self._client = client
        self.address = address_of(client)
        try:
            client.wait_for_workers(1, timeout=COMES_S)
        except (asyncio.TimeoutError, TimeoutError) as error:
            raise EmptyClusterError(self.address, COMES_S) from error
        self._before = {*client.nthreads()}
        check_versions(client, sorted(self._before))
        super().__init__(max(1, min(len(self._before), most or len(self._before))))
        self._executor = client.get_executor(pure=False)

    def shared(self, value: bytes) -> Any:
        """Return a future of the value: it travels to each worker once, and again to one that takes over."""
        return self._client.submit(_itself, value, pure=False)

    def end(self, kill: bool = False) -> None:
        """Do nothing: the cluster is the user's."""

    def gone(self) -> str:
        """Name the workers that ended since the beginning."""
        from perfmodel.cluster import asking

        try:
            with asking(self._client):
                names = sorted(self._before - {*self._client.nthreads()})
        except SchedulerError:  # all results are there
            return ""
        if not names:
            return ""
        return f"{len(names)} of {len(self._before)} workers ({', '.join(names[:3])}{', ...' * (len(names) > 3)})"


@contextmanager
def processes_for(jobs: int, most: int) -> Iterator[OwnProcesses]:
    """Give processes for so many jobs, at most so many; this machine's end with the block, at once where it raises.

    Raises
    ------
    EmptyClusterError, WorkerVersionError, SchedulerError
        As of :class:`ClusterProcesses`.
    """
    from joblib import effective_n_jobs
    from joblib.parallel import get_active_backend

    warnings.filterwarnings("ignore", "A worker stopped while some jobs", UserWarning)  # loky's, where it replaces it
    backend, _ = get_active_backend()
    processes: OwnProcesses
    if (client := getattr(backend, "client", None)) is not None:  # of Dask
        processes = ClusterProcesses(client, min(jobs, most) if jobs > 0 else most)
    else:
        processes = OwnProcesses(max(1, min(int(effective_n_jobs(jobs)), most)))
    try:
        yield processes
    except BaseException:
        with _interrupts_held():
            processes.end(kill=True)
        raise
    processes.end()


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


def _itself(value: bytes) -> bytes:
    return value
