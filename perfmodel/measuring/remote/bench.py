"""A bench whose device is a worker's: what touches the device is a Dask task there, and all else stays here.

The bench on the worker (:class:`WorkerSide`) is the result of a task, too. It cannot travel, so Dask does all tasks
with it on its worker, and forgets it, with the lock of the device, when this process releases it or ends.
"""

from __future__ import annotations

import asyncio
import pickle
from collections import Counter
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from functools import cached_property
from math import inf
from time import monotonic, sleep
from typing import Any

from perfmodel.cluster import address_of, asking, check_versions, dask, lost
from perfmodel.errors import (
    BrokenDeviceError,
    DeviceBusyError,
    KernelTravelError,
    NoWorkerError,
    PerfModelError,
    SchedulerError,
)
from perfmodel.facts.probe_run import Point
from perfmodel.kernels import Parameters
from perfmodel.kernels.files import pickled_by_value
from perfmodel.measuring.campaign import Campaign
from perfmodel.measuring.lock import POLL_S, locked
from perfmodel.measuring.probes.probe import Earlier, Instrument, Probe, ProbeSettings
from perfmodel.measuring.probes.visit import points_of
from perfmodel.measuring.record import AnyBench, Bench
from perfmodel.measuring.remote.devices import WorkersDevice, described, having, one_line, own_device, resource
from perfmodel.measuring.subject import FailedError, Subject
from perfmodel.measuring.supervised import DIED
from perfmodel.measuring.timing import Samples
from perfmodel.progress import Progress, Silent
from perfmodel.store import canonical

#: How often it is looked whether a worker that has not answered is still there [s].
LOOK_S = 0.5
#: How long to wait for a worker with the device, where the last one is gone [s].
RETURN_S = 60.0
#: How long a worker that is busy is asked to give its device back; Dask then forgets the campaign there [s].
LEAVE_S = 5.0
#: A configuration over which so many workers died is not tried again.
DEATHS = 2


class WorkerSide:
    """A worker's device under one campaign, and its lock from the first use until this is forgotten."""

    def __init__(self, slug: str, campaign: Campaign) -> None:
        self._lock, self._locked = ExitStack(), False
        self._bench = Bench(own_device(slug), campaign)
        self._subjects: dict[bytes, Subject] = {}

    def done(self, method: str, kernel: str, *arguments: Any) -> Any:
        """Call a method of the bench, ``probe`` or ``leave``; a subject comes as a pickle of the class `kernel`.

        Raises
        ------
        DeviceBusyError
            Another campaign has the device; the caller waits.
        """
        if method == "leave":
            self._lock.close()
            self._locked = False
            return None
        if not self._locked:
            self._lock.enter_context(locked(self._bench.device.facts, Silent()))
            self._locked = True
        if method == "versions":
            return dict(self._bench.versions)
        if method == "probe":
            return points_of(self._instrument, *arguments)
        subject = [self._subject(kernel, arguments[0])] if kernel else []
        return getattr(self._bench, method)(*subject, *arguments[1:])

    @cached_property
    def _instrument(self) -> Instrument:
        return Instrument(self._bench.device)

    def _subject(self, kernel: str, content: bytes) -> Subject:
        """Return a subject with the code that the caller generated."""
        if content not in self._subjects:
            try:
                self._subjects[content] = pickle.loads(content)
            except Exception as error:  # whatever the modules that it needs raise
                raise KernelTravelError(kernel, f"there, {one_line(error)}") from error
        return self._subjects[content]

    def __del__(self) -> None:
        self._lock.close()


def carry_out(bench: WorkerSide, method: str, kernel: str, *arguments: Any) -> tuple[Any, Exception | None]:
    """Return on the worker what a method makes, and the error that it raises."""
    try:
        return bench.done(method, kernel, *arguments), None
    except (FailedError, PerfModelError) as error:
        return None, error
    except Exception as error:  # what a class's own functions raise where nothing is made of it
        return None, FailedError("runtime", one_line(error))


class WorkersBench(AnyBench):
    """A bench whose device is a worker's.

    All tasks go to one worker as long as it lives, so that the times of a campaign are of one device. Where it dies,
    another one with an equal device takes over.

    Parameters
    ----------
    device : WorkersDevice
        The device.
    campaign : Campaign
        The settings of the campaign.
    progress : Progress
        It is told of workers that die, and of other campaigns that are waited for.
    """

    def __init__(self, device: WorkersDevice, campaign: Campaign, progress: Progress) -> None:
        super().__init__(device, campaign)
        self._client, self._progress = device.client, progress
        self._worker, self._told = "", True
        self._there: Any = None
        self._refused: set[str] = set()
        self._deaths: Counter[str] = Counter()
        self._pickles: dict[Subject, bytes] = {}

    @cached_property
    def versions(self) -> Mapping[str, str]:
        """Versions of what times depend on, on the worker."""
        found: dict[str, str] = self._of_device("versions")
        return found

    def launch_overhead(self) -> float:
        """Time of a kernel that does nothing [s]; raises as :meth:`AnyBench.launch_overhead` does."""
        return float(self._of_device("launch_overhead"))

    def see_that_it_works(self) -> None:
        """Open the device again if it runs nothing any more; raises as :meth:`AnyBench.see_that_it_works` does."""
        self._of_device("see_that_it_works")

    def trial(self, subject: Subject, parameters: Parameters) -> float:
        """Quickest of some runs [s]."""
        return float(self._of_subject("trial", subject, parameters))

    def timed(self, subject: Subject, parameters: Parameters) -> tuple[str, Samples]:
        """Time the runs of one visit; return when the first of them began, too."""
        found: tuple[str, Samples] = self._of_subject("timed", subject, parameters)
        return found

    def check(self, subject: Subject) -> None:
        """Compare the subject's output with its reference; raises as :meth:`AnyBench.check` does."""
        self._of_subject("check", subject)

    def probe(self, probe: Probe, settings: ProbeSettings, earlier: Earlier) -> tuple[tuple[Point, ...], str]:
        """Time the configurations of a probe, and say what went wrong."""
        try:
            found: tuple[tuple[Point, ...], str] = self._done(
                f"probe {probe.name}", "probe", "", probe.name, settings, earlier
            )
            return found
        except FailedError as failure:
            return (), failure.message

    def leave(self) -> None:
        """Let other campaigns have the device at once; a worker that is gone need not know."""
        try:
            with suppress(PerfModelError):
                if self._there is not None and self._worker in having(self._client).get(self.device.slug, ()):
                    self._answer("leave", "", limit_s=LEAVE_S)
        finally:
            self._worker, self._there, self._told = "", None, True

    def _of_device(self, method: str) -> Any:
        try:
            return self._done("the empty kernel", method, "")
        except FailedError as failure:
            raise BrokenDeviceError(self.device.name, failure.message) from failure

    def _of_subject(self, method: str, subject: Subject, *parameters: Parameters) -> Any:
        name = " ".join([subject.kernel.name, canonical(subject.variant), *map(canonical, parameters)])
        return self._done(name, method, subject.kernel.name, self._pickled(subject), *parameters)

    def _pickled(self, subject: Subject) -> bytes:
        if subject not in self._pickles:
            subject.generated  # noqa: B018 -- here and not on the worker, where a failure has its status
            try:
                self._pickles[subject] = pickled_by_value(subject)
            except Exception as error:  # whatever a value's own pickling raises
                raise KernelTravelError(subject.kernel.name, f"{type(error).__name__}: {error}") from error
        return self._pickles[subject]

    def _done(self, name: str, method: str, kernel: str, *arguments: Any) -> Any:
        """Return what a method makes of its arguments on the worker, or raise its error.

        A worker that dies over it is replaced, and it is tried again; `name` says in messages what was under way.

        Raises
        ------
        FailedError
            It failed, or workers died over it.
        DeviceBusyError
            Another campaign on the device does not end in time.
        NoWorkerError
            No worker with the device is left.
        SchedulerError
            The scheduler does not answer any more.
        """
        since: float | None = None
        while True:
            self._take_over()
            answer = self._answer(method, kernel, *arguments)
            if answer is None:
                self._died(name)
                continue
            value, error = answer
            if isinstance(error, DeviceBusyError):
                since = self._waited(error, since)
                continue
            self._deaths.pop(name, None)
            if error is not None:
                raise error
            return value

    def _waited(self, busy: DeviceBusyError, since: float | None) -> float:
        """Wait a little for another campaign; return since when it is waited for."""
        wait_s = self.campaign.wait_s
        if since is None:
            since = monotonic()
            self._progress.tell(f"waiting up to {wait_s:g} s for another campaign on {busy.device}: {busy.holder}")
        if monotonic() - since >= wait_s:
            raise DeviceBusyError(busy.device, wait_s, busy.holder, busy.path)
        sleep(POLL_S)
        return since

    def _died(self, name: str) -> None:
        self._deaths[name] += 1
        self._told, self._there = True, None
        if self._deaths[name] >= DEATHS:
            message = f"{DIED}an unknown cause (its worker was lost) while this was under way, twice"
            raise FailedError("runtime", message)
        self._progress.tell(f"{name}: the worker {self._worker} was lost while this was under way; tried again")

    def _take_over(self) -> None:
        """Where the worker is gone, begin on another one with an equal device and our versions."""
        while self._there is None or self._worker not in having(self._client).get(self.device.slug, ()):
            before, worker = self._worker, self._present()
            if problem := self._unfit(worker):
                self._refused.add(worker)
                self._progress.tell(f"the worker {worker} is not used: {problem}")
                continue
            if not self._told:
                self._progress.tell(f"the worker {before} is gone; going on with {worker}")
            self._worker = worker
            self._there = self._submitted(WorkerSide, self.device.slug, self.campaign)
        self._told = False

    def _present(self) -> str:
        """Return a worker that has the device, after waiting for one to come."""
        began = monotonic()
        while True:
            workers = having(self._client)
            if usable := [worker for worker in workers.get(self.device.slug, ()) if worker not in self._refused]:
                return usable[0]
            if monotonic() - began > RETURN_S:
                raise NoWorkerError(self.device.slug, address_of(self._client), tuple(workers), RETURN_S)
            sleep(LOOK_S)

    def _unfit(self, worker: str) -> str:
        """Return why a worker cannot take over; "" if it can."""
        try:
            check_versions(self._client, [worker])
            answer = described(self._client, worker, self.device.slug)
        except SchedulerError:
            raise
        except PerfModelError as error:
            return str(error)
        if answer is not None and answer[1].hash == self.device.facts.hash:
            return ""
        return "it was lost" if answer is None else f"its {self.device.slug} is another device, or has another driver"

    def _submitted(self, function: Any, *arguments: Any) -> Any:
        with asking(self._client):
            return self._client.submit(
                function, *arguments, workers=[self._worker], allow_other_workers=False,
                resources={resource(self.device.slug): 1}, pure=False,
            )  # fmt: skip

    def _answer(
        self, method: str, kernel: str, *arguments: Any, limit_s: float = inf
    ) -> tuple[Any, Exception | None] | None:
        """Return the value or the error of a method; None if the worker died, or if the limit has passed."""
        began = monotonic()
        future = self._submitted(carry_out, self._there, method, kernel, *arguments)
        try:
            while True:
                try:
                    answer: tuple[Any, Exception | None] = future.result(timeout=LOOK_S)
                    return answer
                except (Exception, asyncio.CancelledError) as error:
                    if future.status == "error":  # raised there; a TimeoutError may also be of the line above
                        if self._there.status == "error" and _without(self._there.exception()) is not None:
                            raise BrokenDeviceError(self.device.slug, one_line(self._there.exception())) from error
                        return _without(future.exception())
                    if not isinstance(error, asyncio.TimeoutError | TimeoutError):
                        if problem := lost(self._client, error):
                            raise problem from error
                        return _without(error)
                gone = self._worker not in having(self._client).get(self.device.slug, ())
                if gone or monotonic() - began > limit_s:
                    return None
        finally:
            with suppress(Exception):  # a client whose scheduler is lost; the block above says so
                if not future.done():
                    future.cancel()
                future.release()


def _without(error: BaseException) -> tuple[Any, Exception | None] | None:
    """Return what stands for the answer of a task that raised; None if its worker was killed over and over."""
    if isinstance(error, dask().scheduler.KilledWorker):
        return None
    return None, FailedError("runtime", f"the worker gave no answer: {one_line(error)}")
