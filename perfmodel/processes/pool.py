"""Variants spread over processes: memory, deaths, interrupts, order.

Memory: what isl and Loopy keep of each kernel is never given back, about half a megabyte. Where a process of this
machine grew by :data:`GROWTH_BYTES`, all are replaced, once they have finished what they do.

Deaths: where a process dies, what was under way is done again, one variant after the other and nothing beside it, so
that the one that kills its process is known: it gets an error.
"""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from typing import Any

import cloudpickle

from perfmodel.errors import (
    PerfModelError,
    SchedulerError,
    UnpicklableVariantError,
    WorkerDiedError,
    WorkerDiedWarning,
)
from perfmodel.processes.batches import Report, Task, attempt, work
from perfmodel.processes.executors import Processes, checked_jobs, is_death, processes_for
from perfmodel.processes.variants import CountedVariants, Parcel, Variant, packed, packed_counts
from perfmodel.progress import FailedStep, Progress, shown
from perfmodel.progress import task as reported

GROWTH_BYTES = 250 * 2**20
"""A process that grew by so much is replaced [B]; it begins with about 100 MB."""
MOST = 8
"""Variants in a batch, at most: half a second or more of work, beside a millisecond to send it."""
PER_PROCESS = 4
"""Batches for each process, at least, where variants are few: none waits long for the last one."""
SENT = 2
"""Batches sent for each process: one that it does, and one to go on with."""
AHEAD = 8
"""Full batches for each process that may be done before the variant that all others wait for."""


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
    ) -> Iterator[tuple[str, Any]]:
        """Do a task with each variant; yield name and value, or error, in the variants' order, as soon as it is there.

        Parameters
        ----------
        task, variants
            What is done, and with what.
        title
            Of the task, for the progress.
        most
            Variants that travel together, at most: fewer where what the task returns is large.
        """
        with reported(self.progress, title, len(variants)):
            if self.alone:
                for name in variants:
                    value = attempt(task, name, variants[name])
                    self.progress.advance(_note(name, value))
                    yield name, value
                return
            if not variants:
                return
            with processes_for(self.jobs, len(variants)) as processes:
                course = _Course(task, variants, max(1, min(most, MOST)), processes, self.progress)
                try:
                    yield from course.results()
                finally:
                    course.cancel()


class _Course:
    """What has been sent to processes, and what has come back."""

    def __init__(
        self, task: Task, variants: Mapping[str, Variant], most: int, processes: Processes, progress: Progress
    ) -> None:
        self._variants, self._names = variants, tuple(variants)
        self._processes, self._progress = processes, progress
        self._task = processes.shared(cloudpickle.dumps(task))
        self._queue = deque(_batches(len(self._names), processes.count, most))
        self._ahead = AHEAD * most * processes.count  # variants
        self._suspects: deque[int] = deque()  # one of them may have killed a process
        self._sent: dict[Future[Report], list[int]] = {}
        self._found: dict[int, Any] = {}  # what waits for an earlier one
        self._next = 0  # the first that has not been yielded
        self._on_trial = False  # whether what was sent is a suspect, alone
        self._grown = False
        self._told: set[tuple[type[Warning], str]] = set()

    def results(self) -> Iterator[tuple[str, Any]]:
        """Yield name and value, or error, of each variant."""
        while self._next < len(self._names):
            self._send()
            self._receive()
            while self._next in self._found:
                yield self._names[self._next], self._found.pop(self._next)
                self._next += 1
        if gone := self._processes.gone():
            _warn(f"{gone} of the cluster ended meanwhile: what they had not finished was done by others")

    def cancel(self) -> None:
        """Give up what has been sent and is not done."""
        for future in self._sent:
            future.cancel()

    def _send(self) -> None:
        if self._grown and not self._sent:
            self._processes.renew()
            self._grown = False
        while self._may_send():
            self._on_trial = bool(self._suspects)
            batch = [self._suspects.popleft()] if self._suspects else self._queue.popleft()
            parcels = tuple(self._parcels(batch))
            if not parcels:
                continue
            try:
                future = self._processes.submit(work, self._task, parcels)
            except Exception as error:
                if not is_death(error):
                    raise
                self._queue.appendleft([place for place, _ in parcels])  # a process died while it had nothing to do
                if self._sent:
                    return  # which tell so, too
                self._processes.renew(kill=True)
            else:
                self._sent[future] = [place for place, _ in parcels]

    def _may_send(self) -> bool:
        if self._grown or not (self._suspects or self._queue):
            return False
        if self._suspects or self._on_trial:
            return not self._sent
        room = SENT * self._processes.count - len(self._sent)
        return room > 0 and self._queue[0][0] - self._next < self._ahead

    def _parcels(self, batch: Sequence[int]) -> Iterator[tuple[int, Parcel]]:
        for place in batch:
            try:
                yield place, _parcel(self._variants, self._names[place])
            except UnpicklableVariantError as error:
                self._keep(place, error)

    def _receive(self) -> None:
        """Wait for a batch; where its process died, for all that was sent."""
        if not self._sent:
            return
        done, _ = wait(self._sent, return_when=FIRST_COMPLETED)
        if lost := self._taken(done):
            rest, _ = wait(self._sent)
            self._mourn(sorted(lost + self._taken(rest)))

    def _taken(self, futures: Collection[Future[Report]]) -> list[int]:
        """Keep what came of batches; return the variants of those whose process died."""
        lost = []
        for future in futures:
            batch = self._sent.pop(future)
            try:
                report = future.result()
            except CancelledError as error:  # only a lost scheduler does that
                raise SchedulerError(self._processes.address, "the connection is lost") from error
            except Exception as error:
                if not is_death(error):
                    raise
                lost += batch
            else:
                self._take(report)
        return lost

    def _take(self, report: Report) -> None:
        for one in report.outcomes:
            self._keep(one.place, one.value)
        self._grown = self._grown or (self._processes.replaceable and report.grown_bytes > GROWTH_BYTES)
        for category, text in (warning for one in report.outcomes for warning in one.warnings):
            if (category, text) not in self._told:
                self._told.add((category, text))
                _warn(text, category)

    def _keep(self, place: int, value: Any) -> None:
        self._found[place] = value
        self._progress.advance(_note(self._names[place], value))

    def _mourn(self, lost: Sequence[int]) -> None:
        """Say that a process died, and suspect what it may have done; a suspect that was alone gets an error."""
        self._processes.renew(kill=True)
        self._grown = False
        if self._on_trial:
            (place,) = lost
            self._keep(place, WorkerDiedError(self._names[place]))
            return
        self._suspects.extend(lost)
        again = f"{len(lost)} of {len(self._names)} variants were under way and are done again, the rest goes on"
        _warn(f"a process was killed or crashed: {again}")


def _parcel(variants: Mapping[str, Variant], name: str) -> Parcel:
    if isinstance(variants, CountedVariants):
        return packed_counts(name, variants.stored(name))
    return packed(name, variants[name])


def _note(name: str, value: Any) -> str:
    return FailedStep(name, value) if isinstance(value, PerfModelError) else name


def _batches(count: int, processes: int, most: int) -> list[list[int]]:
    size = max(1, min(most, count // (PER_PROCESS * processes)))
    return [list(range(first, min(first + size, count))) for first in range(0, count, size)]


def _warn(text: str, category: type[Warning] = WorkerDiedWarning) -> None:
    warnings.warn(text, category, stacklevel=2)
