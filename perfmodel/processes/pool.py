"""Variants spread over processes: order, deaths, interrupts, memory.

The processes are loky's, as joblib has them, or those of the Dask cluster of a block of joblib's
``parallel_config(backend="dask")``. joblib's own loop over them is not used: with Dask it waits for ever for a variant
that kills its worker, and with loky it does not tell which one that was.

Where a process dies, what was under way is done again, one variant after the other and nothing beside it, so that the
one that kills its process is known: it gets an error. isl and Loopy keep about half a megabyte of each kernel and never
give it back: loky replaces a process of this machine that grew by 300 MB.
"""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Collection, Generator, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from operator import index
from typing import Any

import cloudpickle

from perfmodel.errors import (
    JobsError,
    PerfModelError,
    SchedulerError,
    UnpicklableVariantError,
    WorkerDiedError,
    WorkerDiedWarning,
)
from perfmodel.processes.executors import OwnProcesses, is_death, processes_for
from perfmodel.processes.variants import CountedVariants, Outcome, Task, Variant, attempt, packed, work
from perfmodel.progress import FailedStep, Progress, shown, task as reported

SENT = 2
"""Variants sent to each process: one that it does, and one to go on with."""
MOST = 64
"""Most variants for each process that may be done before the one that all others wait for."""


class Pool:
    """Spreads variants over processes, or does them in this one.

    Parameters
    ----------
    jobs
        Number of processes; -1 is one for each core. With 1 there are none. There are never more than variants.
    progress
        Is told of each variant that is done; True for a bar on standard error.

    Raises
    ------
    JobsError
        If `jobs` is 0 or no integer.
    """

    def __init__(self, jobs: int, progress: Progress | bool | None = None) -> None:
        self.jobs = checked_jobs(jobs)
        self.progress = shown(progress)

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

        Parameters
        ----------
        task, variants
            What is done, and with what.
        title
            Of the task, for the progress.
        most
            How many results of a process may wait for an earlier one: fewer where what the task returns is large.
        """
        with reported(self.progress, title, len(variants)):
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
    """Return a number of jobs as an integer.

    Raises
    ------
    JobsError
        If it is 0 or no integer.
    """
    try:
        number = index(jobs)
    except TypeError:
        number = 0
    if isinstance(jobs, bool) or number == 0:
        raise JobsError(jobs)
    return number


class _SentTasks:
    """What has been sent to processes, and what has come back."""

    def __init__(
        self, task: Task, variants: Mapping[str, Variant], ahead: int, processes: OwnProcesses, progress: Progress
    ) -> None:
        self._variants, self._names, self._ahead = variants, tuple(variants), ahead
        self._processes, self._progress = processes, progress
        self._task = processes.shared(cloudpickle.dumps(task))
        self._waiting = deque(range(len(self._names)))
        self._suspects: deque[int] = deque()  # one of them may have killed a process
        self._on_trial = False  # whether what was sent is a suspect, alone
        self._sent: dict[Future[Outcome], int] = {}
        self._values: dict[int, Any] = {}  # what waits for an earlier one
        self._next = 0  # the first that has not been yielded
        self._told: set[tuple[type[Warning], str]] = set()

    def results(self) -> Iterator[tuple[str, Any]]:
        """Yield name and value, or error, of each variant."""
        while self._next < len(self._names):
            while self._may_send():
                self._send()
            if self._sent:
                self._receive()
            while self._next in self._values:
                yield self._names[self._next], self._values.pop(self._next)
                self._next += 1
        if gone := self._processes.gone():
            _warn(f"{gone} of the cluster ended meanwhile: what they had not finished was done by others")

    def cancel(self) -> None:
        """Give up what has been sent and is not done."""
        for future in self._sent:
            future.cancel()

    def _may_send(self) -> bool:
        if self._suspects or self._on_trial:
            return bool(self._suspects or self._waiting) and not self._sent
        room = SENT * self._processes.count - len(self._sent)
        return room > 0 and bool(self._waiting) and self._waiting[0] - self._next < self._ahead

    def _send(self) -> None:
        self._on_trial = bool(self._suspects)
        place = (self._suspects or self._waiting).popleft()
        name, variants = self._names[place], self._variants
        try:
            parcel = packed(name, variants.stored(name) if isinstance(variants, CountedVariants) else variants[name])
            future = self._processes.submit(work, self._task, parcel)
        except UnpicklableVariantError as error:
            self._keep(place, error)
        except Exception as error:
            if not is_death(error):
                raise
            (self._suspects if self._on_trial else self._waiting).appendleft(place)
            if lost := self._lost({*self._sent}):
                self._mourn(lost)
            else:  # a process died while it had nothing to do
                self._processes.end(kill=True)
        else:
            self._sent[future] = place

    def _receive(self) -> None:
        """Wait for a variant; where its process died, for all that was sent."""
        done, _ = wait(self._sent, return_when=FIRST_COMPLETED)
        if lost := self._lost(done):
            self._mourn(lost + self._lost({*self._sent}))

    def _lost(self, futures: Collection[Future[Outcome]]) -> list[int]:
        """Keep what came of variants, once all are done; return those whose process died."""
        lost = []
        done, _ = wait(futures)
        for future in done:
            place = self._sent.pop(future)
            try:
                outcome = future.result()
            except CancelledError as error:  # only a lost scheduler does that
                raise SchedulerError(self._processes.address, "the connection is lost") from error
            except Exception as error:
                if not is_death(error):
                    raise
                lost.append(place)
            else:
                self._keep(place, outcome.value)
                for category, text in {*outcome.warnings} - self._told:
                    self._told.add((category, text))
                    _warn(text, category)
        return lost

    def _keep(self, place: int, value: Any) -> None:
        self._values[place] = value
        self._progress.advance(_note(self._names[place], value))

    def _mourn(self, lost: list[int]) -> None:
        """Say that a process died, and suspect what it may have done; a suspect that was alone gets an error."""
        self._processes.end(kill=True)
        if self._on_trial:
            (place,) = lost
            self._keep(place, WorkerDiedError(self._names[place]))
            return
        self._suspects.extend(sorted(lost))
        again = f"{len(lost)} of {len(self._names)} variants were under way and are done again, the rest goes on"
        _warn(f"a process was killed or crashed: {again}")


def _note(name: str, value: Any) -> str:
    return FailedStep(name, value) if isinstance(value, PerfModelError) else name


def _warn(text: str, category: type[Warning] = WorkerDiedWarning) -> None:
    warnings.warn(text, category, stacklevel=2)
