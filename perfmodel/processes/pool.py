"""Variants spread over processes: loky's processes on this machine, or the workers of an active Dask cluster.

If the process of a variant dies, the variant is tried again, alone. If the process dies again, the variant gets an
error.
"""

from __future__ import annotations

import inspect
import operator
import os
import signal
import threading
import warnings
from collections.abc import Callable, Generator, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from math import inf
from time import monotonic
from typing import Any

import cloudpickle

from perfmodel import errors, progress as reports
from perfmodel.counts import count
from perfmodel.counts.unused import report, statistics_of_variants
from perfmodel.documents import require
from perfmodel.kernels.space import Space
from perfmodel.processes.variants import CountedVariants, Counting, Task, Variant, attempt, packed, received, work

SENT = 2  # variants sent to each process: one that it works on, and the next one
MOST = 64  # most variants per process that may finish before an earlier one
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")
"""Environment variables that limit the threads of libraries."""
SEED = "6640"  # seed of Python's hashes, which order some unrolled code of Loopy; Dask gives its workers the same seed
WORKERS_S = 10.0  # how long to wait for the first worker of a cluster [s]
CORES: frozenset[int] = frozenset(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else frozenset()
"""The cores that this process could use when it started; empty where the system does not report them."""


class Pool:
    """Works on variants in `jobs` processes (-1: one for each core, 1: this process). `progress` True shows a bar.

    Given `processes` do the work, and stay for later work. By default each :meth:`stream` starts and ends its own.
    """

    def __init__(
        self, jobs: int, progress: reports.Progress | bool | None = None, processes: Processes | None = None
    ) -> None:
        self.jobs = checked_jobs(jobs)
        self.progress = reports.shown(progress)
        self._processes = processes

    @property
    def alone(self) -> bool:
        """Whether this process does all work."""
        return self.jobs == 1

    def stream(
        self, task: Task, variants: Mapping[str, Variant], title: str, most: int = MOST
    ) -> Generator[tuple[str, Any], None, None]:
        """Yield the name and the result, or error, of each variant in order. Buffer `most` results per process."""
        with reports.task(self.progress, title, len(variants)):
            if self.alone:
                for name in variants:
                    value = attempt(task, name, variants[name])
                    self.progress.advance(_note(name, value))
                    yield name, value
            elif variants:
                kept = None if self._processes is None else nullcontext(self._processes)
                with kept or processes_for(self.jobs, len(variants)) as processes:
                    sent = _SentVariants(task, variants, most, processes, self.progress)
                    try:
                        yield from sent.results()
                    finally:
                        sent.cancel()


def checked_jobs(jobs: Any) -> int:
    """Return a number of jobs as an integer other than 0, or raise OptionError."""
    number = 0
    with suppress(TypeError):
        number = operator.index(jobs)
    if isinstance(jobs, bool) or number == 0:
        advice = "give the number of processes, such as 2, or -1 for one on each core"
        raise errors.OptionError(f"jobs={errors.clipped(repr(jobs))}", advice)
    return number


class _SentVariants:
    def __init__(
        self, task: Task, variants: Mapping[str, Variant], most: int, processes: Processes, progress: reports.Progress
    ) -> None:
        self._variants, self._names, self._most = variants, tuple(variants), max(SENT, min(most, MOST))
        self._processes, self._progress = processes, progress
        self._task = processes.shared(cloudpickle.dumps(task))
        self._next = 0
        self._sent: dict[Future[Any], int] = {}
        self._values: dict[int, Any] = {}
        self._warned: set[tuple[type[Warning], str]] = set()
        self._late = False  # the processes' time is over

    def results(self) -> Iterator[tuple[str, Any]]:
        for index, name in enumerate(self._names):
            while index not in self._values and not self._late:
                unfinished = self._send(index) or self._receive()
                if unfinished:
                    self._retry(unfinished)
            if index in self._values:
                yield name, self._values.pop(index)
        if self._late:
            self._processes.end(kill=True)

    def cancel(self) -> None:
        for future in self._sent:
            future.cancel()

    def _send(self, index: int) -> list[int]:
        """Send variants while processes have room. If a process died, return the variants without a result."""
        last = min(len(self._names), index + self._most * self._processes.count)
        while self._next < last and len(self._sent) < SENT * self._processes.count:
            self._next += 1
            try:
                self._submit(self._next - 1)
            except Exception as error:
                if not is_death(error):
                    raise
                return [*self._receive(everything=True), self._next - 1]
        return []

    def _submit(self, index: int) -> None:
        name, variants = self._names[index], self._variants
        try:
            parcel = packed(name, variants.stored(name) if isinstance(variants, CountedVariants) else variants[name])
        except errors.KernelError as error:
            self._keep(index, error)
        else:
            self._sent[self._processes.submit(work, self._task, parcel)] = index

    def _receive(self, everything: bool = False) -> list[int]:
        """Wait for a result. If a process died, wait for all others too, and return the variants without a result."""
        unfinished = []
        left = self._processes.until - monotonic()
        done = wait(
            self._sent, None if left == inf else max(left, 0.0), "ALL_COMPLETED" if everything else FIRST_COMPLETED
        ).done
        self._late = left < inf and not done
        for future in done:
            index = self._sent.pop(future)
            try:
                outcome = future.result()
            except CancelledError as error:  # only a lost scheduler cancels calls
                raise errors.SchedulerError("the connection to the Dask scheduler is lost", "run this again") from error
            except Exception as error:
                if not is_death(error):
                    raise
                unfinished.append(index)
            else:
                value, given = received(self._names[index], outcome)
                self._keep(index, value)
                report(*outcome.unused)
                for category, text in {*given} - self._warned:
                    self._warned.add((category, text))
                    warnings.warn(text, category, stacklevel=2)
        if unfinished and self._sent:
            unfinished += self._receive(everything=True)
        return unfinished

    def _keep(self, index: int, value: Any) -> None:
        self._values[index] = value
        self._progress.advance(_note(self._names[index], value))

    def _retry(self, unfinished: list[int]) -> None:
        warnings.warn(
            f"a process was killed or crashed: {len(unfinished)} of {len(self._names)} variants were under way and are "
            "done again", errors.WorkerDiedWarning, stacklevel=2,
        )  # fmt: skip
        self._processes.end(kill=True)
        for index in sorted(unfinished):
            self._submit(index)
            if self._sent and self._receive():
                self._processes.end(kill=True)
                problem = f"variant '{self._names[index]}': two processes that worked on it were killed or crashed"
                advice = "run it with jobs=1 to see why, make its code shorter if memory is too small, or leave it out"
                self._keep(index, errors.VariantError(problem, advice, name=self._names[index]))


def _note(name: str, value: Any) -> str:
    return reports.FailedStep(name, value) if isinstance(value, errors.PerfModelError) else name


class Processes:
    """A number `count` of processes, which end with the ``with`` block. A process that grew by 300 MB is replaced.

    A stream waits for no result after `until`, a time of the monotonic clock [s]: it then yields what is finished.
    """

    def __init__(self, count: int) -> None:
        self.count, self.until = count, inf
        self._executor: Any = None

    def shared(self, value: bytes) -> Any:
        """Return an argument of many calls in the form in which it is sent."""
        return value

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Call a function in one of the processes. The first call starts the processes."""
        if self._executor is not None:
            return self._executor.submit(function, *arguments)  # type: ignore[no-any-return]
        with _interrupts_held(), all_cores():
            self._executor = self._started()
            return self._executor.submit(function, *arguments)  # type: ignore[no-any-return]

    def _started(self) -> Any:
        from loky import ProcessPoolExecutor, cpu_count

        warnings.filterwarnings("ignore", "A worker stopped while some jobs", UserWarning)  # where loky replaces one
        wanted = {**dict.fromkeys(THREADS, str(max(1, cpu_count() // self.count))), "PYTHONHASHSEED": SEED}
        environment = {name: os.environ.get(name, value) for name, value in wanted.items()}
        ignore = {"initializer": signal.signal, "initargs": (signal.SIGINT, signal.SIG_IGN)}
        return ProcessPoolExecutor(self.count, env=environment, **ignore)

    def end(self, kill: bool = False) -> None:
        """End the processes once they are idle, or at once. The next call starts new processes."""
        executor, self._executor = self._executor, None
        if executor is not None:
            executor.shutdown(wait=True, kill_workers=kill)

    def __enter__(self) -> Processes:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if kind is None:
            self.end()
        else:
            with _interrupts_held():
                self.end(kill=True)


class ClusterProcesses(Processes):
    """At most `most` workers of a Dask cluster, which replaces dead workers. Versions of workers must match."""

    def __init__(self, client: Any, most: int) -> None:
        import asyncio

        from perfmodel import cluster

        self._client, address = client, cluster.address_of(client)
        try:
            client.wait_for_workers(1, timeout=WORKERS_S)
        except (asyncio.TimeoutError, TimeoutError) as error:
            problem = f"the Dask scheduler at '{address}' has no workers (waited {WORKERS_S:g} s)"
            raise errors.SchedulerError(problem, f"start some: dask worker {address} --nthreads 1") from error
        workers = sorted(client.nthreads())
        cluster.check_versions(client, workers)
        super().__init__(min(len(workers), most))
        self._executor = client.get_executor(pure=False)

    def shared(self, value: bytes) -> Any:
        """Return a future of the value, which travels to each worker once."""
        return self._client.submit(bytes, value, pure=False)

    def end(self, kill: bool = False) -> None:
        """Do nothing, because the user owns the cluster."""


def processes_for(jobs: int, most: int) -> Processes:
    """Return at most `most` processes for a number of jobs. They are of an active Dask cluster, or of this machine."""
    from joblib import effective_n_jobs
    from joblib.parallel import get_active_backend

    client = getattr(get_active_backend()[0], "client", None)  # of Dask
    if client is not None:
        return ClusterProcesses(client, min(jobs, most) if jobs > 0 else most)
    with all_cores():
        return Processes(max(1, min(int(effective_n_jobs(jobs)), most)))


def processes_here(wanted: int, most: int | None = None) -> AbstractContextManager[Processes | None]:
    """Return `wanted` processes, but at most `most` and one for each core. If one suffices, return None."""
    from loky import cpu_count

    with all_cores():
        count = min(wanted, int(cpu_count()), most or wanted)
    return Processes(count) if count > 1 else nullcontext()


@contextmanager
def all_cores() -> Iterator[None]:
    """Let this thread, and processes started in the block, use all cores. PoCL binds threads to one core."""
    bound = os.sched_getaffinity(0) if CORES else set()
    if CORES:
        os.sched_setaffinity(0, CORES)
    try:
        yield
    finally:
        if CORES:
            os.sched_setaffinity(0, bound)


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Delay an interrupt until the end of the block. Processes that start in the block receive no interrupts."""
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGINT) is None:
        yield
        return
    received_signals: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: received_signals.append(number))
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        signal.signal(signal.SIGINT, before)
        if received_signals:
            signal.raise_signal(signal.SIGINT)


def is_death(error: BaseException) -> bool:
    """Whether an error means that a process of this machine died, or that several of a cluster died in a row."""
    return isinstance(error, BrokenProcessPool) or type(error).__name__ == "KilledWorker"


@statistics_of_variants()
def count_all(
    variants: Mapping[str, Variant] | Space, jobs: int = -1, *, progress: reports.Progress | bool | None = None,
    **options: Any,
) -> CountedVariants:  # fmt: skip
    """Count many variants of a kernel in several processes, which share the cache of counts on disk.

    Parameters
    ----------
    variants
        A :class:`perfmodel.Space`, or by name translation units, their counts, or functions without arguments that make
        translation units. Functions are called in the processes, and may come from a notebook or a kernel file.
    jobs
        Number of processes: -1 is one for each core, -2 is one for all cores but one, 1 is this process. In a block of
        ``joblib.parallel_config(backend="dask")`` the cluster's workers are used.
    progress
        Receives a report for each variant. True shows a bar on standard error.
    **options
        As of :func:`perfmodel.count`.

    Returns
    -------
    CountedVariants
        A mapping of name to counts, in the order of the variants. ``errors`` has by name the errors of the others. A
        variant that ends its process twice has an error. A WorkerDiedWarning reports each end.

    Raises
    ------
    PerfModelError, OptionError, TypeError
        If no variant can be counted (the first error), or if `jobs` or an option of :func:`perfmodel.count` is invalid.
    VersionError, SchedulerError
        If a worker of a cluster has other versions, or if the scheduler does not answer.

    Examples
    --------
    >>> import loopy as lp, numpy as np
    >>> def scale(width):
    ...     double = lp.make_kernel("{ [i]: 0 <= i < n }", "out[i] = 2*a[i]", [lp.GlobalArg("a, out", np.float32), ...],
    ...                             lang_version=(2018, 2), assumptions="n >= 1")
    ...     return lp.split_iname(double, "i", width, outer_tag="g.0", inner_tag="l.0")
    >>> counted = count_all({"8": lambda: scale(8), "16": lambda: scale(16), "none": lambda: scale(0)}, jobs=1)
    >>> {name: counts.work_groups()(n=64) for name, counts in counted.items()}, list(counted.errors)
    ({'8': 8, '16': 4}, ['none'])
    """
    inspect.signature(count).bind(None, **options)
    named = variants.variants if isinstance(variants, Space) else variants
    require(isinstance(named, Mapping), "count_all: variants", named, "a Space, or a mapping of names to kernels")
    pool = Pool(jobs, progress)
    outcomes = dict(pool.stream(Counting(options, pool.alone), named, "counting"))
    failed = {name: outcome for name, outcome in outcomes.items() if isinstance(outcome, errors.PerfModelError)}
    if failed and len(failed) == len(outcomes):
        raise next(iter(failed.values()))
    return CountedVariants({name: counts for name, counts in outcomes.items() if name not in failed}, failed)
