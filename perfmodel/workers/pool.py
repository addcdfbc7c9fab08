"""Variants spread over processes by joblib, with what joblib leaves to its user: memory, deaths, interrupts, order.

Memory: what isl and Loopy keep of each kernel is never given back, about half a megabyte. A process that grew by
:data:`GROWTH_BYTES` is replaced, with its siblings, once all have finished what they do.

Deaths: where a process dies, joblib ends all of them. What was not finished is done again. The variants that may
have been under way are done one by one first, so that the one that kills its process is known: it gets an error.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from perfmodel.errors import JobsError, PerfModelError, UnpicklableVariantError, WorkerDiedError, WorkerDiedWarning
from perfmodel.progress import Progress, Silent
from perfmodel.progress import task as reported
from perfmodel.workers.batches import Report, Task, attempt, work
from perfmodel.workers.parcels import Variant, packed

if TYPE_CHECKING:
    from joblib import Parallel

GROWTH_BYTES = 250 * 2**20
"""A process that grew by so much is replaced [B]; it begins with about 100 MB."""
MOST = 8
"""Variants in a batch, at most: half a second or more of work, beside a millisecond to send it."""
PER_JOB = 4
"""Batches for each process, at least, where variants are few: none waits long for the last one."""


@dataclass
class Pool:
    """Spreads variants over processes, or does them in this one.

    Parameters
    ----------
    jobs
        Number of processes; -1 is one for each core. With 1 there are none.
    progress
        Is told of each variant that is done.

    Raises
    ------
    JobsError
        If `jobs` is 0 or no integer.
    """

    jobs: int
    progress: Progress | None = None
    _found: dict[int, Any] = field(default_factory=dict)
    _told: set[tuple[type[Warning], str]] = field(default_factory=set)
    _begun: set[int] = field(default_factory=set)
    _grown: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.jobs, bool) or not isinstance(self.jobs, int) or self.jobs == 0:
            raise JobsError(self.jobs)
        self.progress = self.progress or Silent()

    @property
    def alone(self) -> bool:
        """Whether all is done in this process."""
        return self.jobs == 1

    def each(self, task: Task, variants: Mapping[str, Variant], title: str) -> dict[str, Any]:
        """Do a task with each variant, and return by name, in their order, what it returned or the error it raised."""
        progress = self.progress or Silent()
        with reported(progress, title, len(variants)):
            if self.alone:
                found = {}
                for name, variant in variants.items():
                    found[name] = attempt(task, name, variant)
                    progress.advance(_note(name, found[name]))
                return found
            self._found, self._told = {}, set()
            self._spread(task, variants)
        return {name: self._found[place] for place, name in enumerate(variants)}

    def _spread(self, task: Task, variants: Mapping[str, Variant]) -> None:
        import cloudpickle

        work_of = _Work(cloudpickle.dumps(task), tuple(variants.items()))
        suspects: list[int] = []
        with _processes() as processes:
            while left := [place for place in range(len(work_of.variants)) if place not in self._found]:
                suspects = [place for place in suspects if place in left]
                batches = [[suspects[0]]] if suspects else _batches(left, processes.count(self.jobs))
                self._begun, self._grown = set(), False
                try:
                    self._round(work_of, batches, processes)
                except Exception as error:
                    if not _is_death(error):
                        raise
                    suspects = self._mourn(work_of, suspects)
                    processes.end()
                else:
                    if self._grown:
                        processes.replace()
            if gone := processes.gone():
                warnings.warn(f"{gone} of the cluster ended meanwhile: what they had not finished was done by others",
                              WorkerDiedWarning, stacklevel=5)  # fmt: skip

    def _round(self, work_of: _Work, batches: Sequence[Sequence[int]], processes: _Processes) -> None:
        from joblib import Parallel, delayed

        def calls() -> Iterator[Any]:
            for batch in batches:
                if self._grown and processes.own:
                    return
                parcels = tuple(self._parcels(work_of, batch))
                if parcels:
                    self._begun.update(place for place, _ in parcels)
                    yield delayed(work)(work_of.task, parcels)

        parallel: Parallel = Parallel(n_jobs=self.jobs, batch_size=1, return_as="generator_unordered")
        reports = parallel(calls())
        for report in reports:
            self._take(work_of, report)

    def _parcels(self, work_of: _Work, batch: Sequence[int]) -> Iterator[tuple[int, Any]]:
        for place in batch:
            name, variant = work_of.variants[place]
            try:
                yield place, packed(name, variant)
            except UnpicklableVariantError as error:
                self._keep(work_of, place, error)

    def _take(self, work_of: _Work, report: Report) -> None:
        for one in report.outcomes:
            for category, text in one.warnings:
                if (category, text) not in self._told:
                    self._told.add((category, text))
                    warnings.warn(text, category, stacklevel=6)
            self._keep(work_of, one.place, one.value)
        self._grown = self._grown or report.grown_bytes > GROWTH_BYTES

    def _keep(self, work_of: _Work, place: int, value: Any) -> None:
        if place not in self._found:
            self._found[place] = value
            if self.progress is not None:
                self.progress.advance(_note(work_of.variants[place][0], value))

    def _mourn(self, work_of: _Work, suspects: Sequence[int]) -> list[int]:
        """Say that a process died; return the variants that may have killed it, or note the one that did so twice."""
        begun = sorted(self._begun - self._found.keys())
        if suspects and begun == [suspects[0]]:
            name = work_of.variants[begun[0]][0]
            self._keep(work_of, begun[0], WorkerDiedError(name))
            return list(suspects[1:])
        again = f"{len(begun)} of {len(work_of.variants)} variants were under way and are done again, the rest goes on"
        warnings.warn(f"a process was killed or crashed: {again}", WorkerDiedWarning, stacklevel=6)
        return begun


@dataclass(frozen=True)
class _Work:
    """A pickled task, and the variants that it is done with."""

    task: bytes
    variants: tuple[tuple[str, Variant], ...]


def _note(name: str, value: Any) -> str:
    return f"{name}: {value}" if isinstance(value, PerfModelError) else name


def _batches(places: Sequence[int], jobs: int) -> list[Sequence[int]]:
    size = max(1, min(MOST, len(places) // (PER_JOB * jobs)))
    return [places[first : first + size] for first in range(0, len(places), size)]


def _is_death(error: Exception) -> bool:
    """Whether an error says that a process died: of this machine's, or of a cluster's that died over and over."""
    return isinstance(error, BrokenProcessPool) or type(error).__name__ == "KilledWorker"


@contextmanager
def _processes() -> Iterator[_Processes]:
    """Let a block use joblib's processes; those of this machine end with it, at once where it raises."""
    found = _Processes()
    try:
        yield found
    except BaseException:
        found.end()
        raise
    found.replace()


class _Processes:
    """The processes of the backend of joblib that is in use.

    Attributes
    ----------
    own
        Whether they are this machine's, which begin and end with the work; else a cluster's.
    """

    def __init__(self) -> None:
        from joblib.parallel import get_active_backend

        backend, _ = get_active_backend()
        self.own = type(backend).__name__ == "LokyBackend"
        self._client = getattr(backend, "client", None)  # of Dask
        self._before = self._addresses()

    def count(self, jobs: int) -> int:
        """Return how many processes there are for so many jobs."""
        from joblib import effective_n_jobs

        return max(1, int(effective_n_jobs(jobs)))

    def gone(self) -> str:
        """Name the workers of a cluster that ended since the beginning; an empty text for none."""
        names = sorted(self._before - self._addresses())
        if not names:
            return ""
        return f"{len(names)} of {len(self._before)} workers ({', '.join(names[:3])}{', ...' * (len(names) > 3)})"

    def replace(self) -> None:
        """End this machine's processes when they have finished; the next call begins new ones."""
        self._shut(kill=False)

    def end(self) -> None:
        """End this machine's processes at once."""
        self._shut(kill=True)

    def _addresses(self) -> set[str]:
        return set() if self._client is None else {*self._client.nthreads()}

    def _shut(self, kill: bool) -> None:
        from joblib.externals.loky import reusable_executor

        executor = reusable_executor._executor
        if executor is not None and self.own:
            with suppress(OSError):
                executor.shutdown(wait=True, kill_workers=kill)
