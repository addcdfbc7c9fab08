"""A bench whose device is a Dask worker's: what touches the device is a task there, and all else stays here.

Sizes, order, visits, counts and the store are the caller's, so a campaign is the same as on a device of this machine. A
worker has a resource with the slug of its device (``perfmodel:nvidia-h200``). The bench there (:class:`WorkerSide`) is
the result of a task, too. It cannot travel, so Dask does all tasks with it on its worker, and forgets it, with the lock
of the device, when this process releases it or ends.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import platform
from collections import Counter
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from functools import cache, cached_property
from math import inf
from time import monotonic, sleep
from typing import Any

from perfmodel import cluster, errors
from perfmodel.errors import BrokenDeviceError, DeviceBusyError, NoWorkerError, PerfModelError
from perfmodel.facts import DeviceFacts
from perfmodel.kernels import Parameters
from perfmodel.kernels.files import pickled_by_value
from perfmodel.measuring.bench import Bench
from perfmodel.measuring.campaign import Campaign
from perfmodel.measuring.lock import POLL_S, lock_path, locked, pin_threads
from perfmodel.measuring.probes import PROBES
from perfmodel.measuring.subject import FailedError, Subject, one_line
from perfmodel.measuring.supervised import DIED
from perfmodel.measuring.timing import Samples
from perfmodel.opencl import Device, devices
from perfmodel.progress import Progress, Silent
from perfmodel.store import canonical

#: A worker with a device has one of this resource, with the device's slug behind it.
RESOURCE = "perfmodel:"
#: Environment variable of a worker: which of equal devices is its own, by its index.
OWN_DEVICE = "PERFMODEL_WORKER_DEVICE"
#: How often it is looked whether a worker that has not answered is still there [s].
LOOK_S = 0.5
#: How long to wait for a worker with the device, where the last one is gone [s].
RETURN_S = 60.0
#: How long a worker that is busy is asked to give its device back; Dask then forgets the campaign there [s].
LEAVE_S = 5.0
#: A configuration over which so many workers died is not tried again.
DEATHS = 2
#: Why a worker that was lost while it was asked is not used now; it may come back.
LOST = "it was lost"


def resource(slug: str) -> str:
    """Name of the resource of workers that have a device."""
    return f"{RESOURCE}{slug}"


@dataclass(frozen=True)
class WorkersDevice(Device):
    """A device that Dask workers have; its index, and its lock, are those on the first of them."""

    client: Any = field(compare=False)
    lock: str = field(compare=False)

    def context(self) -> tuple[Any, Any]:
        """Refuse: only the workers can open it."""
        raise errors.NoDeviceError(f"the OpenCL device '{self.name}' is a Dask worker's, and cannot be opened here")


def having(client: Any) -> dict[str, list[str]]:
    """Return the addresses of the workers that have each device, by its slug."""
    workers: dict[str, list[str]] = {}
    for address, worker in sorted(cluster.workers_of(client).items()):
        for name, number in worker.get("resources", {}).items():
            if name.startswith(RESOURCE) and number >= 1:
                workers.setdefault(name.removeprefix(RESOURCE), []).append(address)
    return dict(sorted(workers.items()))


def chosen_slug(client: Any, selector: str | None) -> str:
    """Return the device of the workers that is meant: a slug, the begin of only one, else a part of only one.

    So ``intel`` is Intel's runtime beside PoCL on an Intel processor, as it is without a scheduler. NoWorkerError says
    that no worker has it, AmbiguousDeviceError that it may be several.
    """
    slugs, wanted = tuple(having(client)), (selector or "").strip().lower()
    for rule in (str.__eq__, str.startswith, str.__contains__):
        if matching := tuple(slug for slug in slugs if rule(slug, wanted)):
            break
    else:
        raise NoWorkerError(selector or "", cluster.address_of(client), slugs)
    if len(matching) > 1:
        raise errors.AmbiguousDeviceError(selector or "", matching)
    return matching[0]


def workers_device(client: Any, selector: str | None = None) -> WorkersDevice:
    """Find a device of a scheduler's workers, by a slug or a part of one; left out: the only one.

    Raises what :func:`chosen_slug` does, WorkerVersionError where a worker with the device has other versions, and
    BrokenDeviceError where its workers are lost, or cannot say what the device is, when they are asked.
    """
    slug = chosen_slug(client, selector)
    workers = having(client).get(slug, [])
    cluster.check_versions(client, workers)
    for worker in workers:
        if answer := described(client, worker, slug):
            return WorkersDevice(answer[0], answer[1], client, answer[2])
    raise BrokenDeviceError(slug, "its workers were lost when they were asked for it")


def turns(client: Any) -> tuple[tuple[str, ...], ...]:
    """Return the devices of all workers; those of one machine that share a lock are together, and measured in turn."""
    sharing: dict[str, list[str]] = {}
    for slug in having(client):
        sharing.setdefault(workers_device(client, slug).lock, []).append(slug)
    return tuple(map(tuple, sharing.values()))


def described(client: Any, worker: str, slug: str) -> tuple[int, DeviceFacts, str] | None:
    """Return index, facts and lock of a worker's device; None where the worker is lost.

    BrokenDeviceError or UnknownDeviceError where it cannot say what the device is, or does not have it.
    """
    with cluster.asking(client):
        (answer,) = client.run(describe, slug, workers=[worker], on_error="return").values()
    if isinstance(answer, OSError | asyncio.TimeoutError):  # what Dask says of a worker that it cannot reach
        return None
    if isinstance(answer, Exception):
        ours = isinstance(answer, BrokenDeviceError | errors.UnknownDeviceError)
        raise answer if ours else BrokenDeviceError(slug, one_line(answer))
    index, facts, lock = answer
    return index, facts, lock


def describe(slug: str) -> tuple[int, DeviceFacts, str]:
    """Return index, facts and lock of this process's device; the lock with the name of this machine."""
    device = own_device(slug)
    return device.index, device.facts, f"{platform.node()}:{lock_path(device.facts)}"


@cache
def own_device(slug: str) -> Device:
    """Find this process's device; of several equal ones the one that the environment names."""
    pin_threads()
    listed, index = devices(), os.environ.get(OWN_DEVICE)
    for device in listed:
        if device.slug == slug and index in (None, str(device.index)):
            return device
    shown = tuple(f"{device.index}: {device.name} ({device.platform})" for device in listed)
    raise errors.UnknownDeviceError(slug, shown)


class WorkerSide:
    """A worker's device under one campaign, and its lock from the first use until this is forgotten."""

    def __init__(self, slug: str, campaign: Campaign) -> None:
        self._lock, self._locked = ExitStack(), False
        self._bench = Bench(own_device(slug), campaign)
        self._subjects: dict[bytes, Subject] = {}

    def done(self, method: str, kernel: str, *arguments: Any) -> Any:
        """Use the bench, or leave; a subject comes as a pickle of the class `kernel`, a probe as its name.

        DeviceBusyError says that another campaign has the device; the caller waits.
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
        if kernel:
            arguments = (self._subject(kernel, arguments[0]), *arguments[1:])
        elif method == "probe":
            arguments = (next(probe for probe in PROBES if probe.name == arguments[0]), *arguments[1:])
        return getattr(self._bench, method)(*arguments)

    def _subject(self, kernel: str, content: bytes) -> Subject:
        """Return a subject with the code that the caller generated."""
        if content not in self._subjects:
            try:
                self._subjects[content] = pickle.loads(content)
            except Exception as error:  # whatever the modules that it needs raise
                raise errors.KernelTravelError(kernel, f"there, {one_line(error)}") from error
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


class WorkersBench(Bench):
    """A bench whose device is a worker's.

    All tasks go to one worker as long as it lives, so that the times of a campaign are of one device. Where it dies,
    another one with an equal device takes over; `progress` is told of that, and of other campaigns that are waited for.
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
        versions: dict[str, str] = self._of_device("versions")
        return versions

    def launch_overhead(self) -> float:
        """Time of a kernel that does nothing [s]."""
        return float(self._of_device("launch_overhead"))

    def see_that_it_works(self) -> None:
        """Open the device again if it runs nothing any more."""
        self._of_device("see_that_it_works")

    def trial(self, subject: Subject, parameters: Parameters) -> float:
        """Quickest of some runs [s]."""
        return float(self._of_subject("trial", subject, parameters))

    def timed(self, subject: Subject, parameters: Parameters) -> tuple[str, Samples]:
        """Time the runs of one visit; return when the first of them began, too."""
        began_at, samples = self._of_subject("timed", subject, parameters)
        return began_at, samples

    def check(self, subject: Subject) -> None:
        """Compare the subject's output with its reference."""
        self._of_subject("check", subject)

    def probe(self, probe: Any, settings: Any, earlier: Any) -> tuple[Any, str]:
        """Time the configurations of a probe, and say what went wrong."""
        try:
            points, problem = self._done(f"probe {probe.name}", "probe", "", probe.name, settings, earlier)
        except FailedError as failure:
            return (), failure.message
        return points, problem

    def leave(self) -> None:
        """Let other campaigns have the device at once; a worker that is gone need not know."""
        try:
            with suppress(PerfModelError):
                if self._there is not None and self._is_there():
                    self._answer("leave", "", limit_s=LEAVE_S)
        finally:
            self._worker, self._there, self._told = "", None, True

    def _of_device(self, method: str) -> Any:
        try:
            return self._done("the empty kernel", method, "")
        except FailedError as failure:
            raise BrokenDeviceError(self.device.name, failure.message) from failure

    def _of_subject(self, method: str, subject: Subject, *parameters: Parameters) -> Any:
        kernel = subject.kernel.name
        if subject not in self._pickles:
            subject.generated  # noqa: B018 -- here and not on the worker, where a failure has its status
            try:
                self._pickles[subject] = pickled_by_value(subject)
            except Exception as error:  # whatever a value's own pickling raises
                raise errors.KernelTravelError(kernel, f"{type(error).__name__}: {error}") from error
        name = " ".join([kernel, canonical(subject.variant), *map(canonical, parameters)])
        return self._done(name, method, kernel, self._pickles[subject], *parameters)

    def _done(self, name: str, method: str, kernel: str, *arguments: Any) -> Any:
        """Return what a method makes of its arguments on the worker, or raise its error.

        A worker that dies over it is replaced, and it is tried again; `name` says in messages what was under way.
        FailedError says that it failed, or that workers died over it, DeviceBusyError that another campaign on the
        device does not end in time, NoWorkerError that no worker with the device is left.
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

    def _is_there(self) -> bool:
        return self._worker in having(self._client).get(self.device.slug, ())

    def _take_over(self) -> None:
        """Where the worker is gone, begin on another one with an equal device and our versions, once there is one.

        A worker that is lost while it is asked may come back, and is asked again.
        """
        until, told = monotonic() + RETURN_S, set[str]()
        while self._there is None or not self._is_there():
            workers = having(self._client)
            for worker in workers.get(self.device.slug, ()):
                if worker in self._refused:
                    continue
                if not (problem := self._unfit(worker)):
                    self._begin(worker)
                    break
                if problem != LOST:
                    self._refused.add(worker)
                if worker not in told:
                    told.add(worker)
                    self._progress.tell(f"the worker {worker} is not used: {problem}")
            else:
                if monotonic() > until:
                    raise NoWorkerError(self.device.slug, cluster.address_of(self._client), tuple(workers), RETURN_S)
                sleep(LOOK_S)
        self._told = False

    def _begin(self, worker: str) -> None:
        if not self._told:
            self._progress.tell(f"the worker {self._worker} is gone; going on with {worker}")
        self._worker = worker
        self._there = self._submitted(WorkerSide, self.device.slug, self.campaign)

    def _unfit(self, worker: str) -> str:
        """Return why a worker cannot take over; "" if it can."""
        try:
            cluster.check_versions(self._client, [worker])
            answer = described(self._client, worker, self.device.slug)
        except errors.SchedulerError:
            raise
        except PerfModelError as error:
            return str(error)
        if answer is None:
            return LOST
        equal = answer[1].hash == self.device.facts.hash
        return "" if equal else f"its {self.device.slug} is another device, or has another driver"

    def _submitted(self, function: Any, *arguments: Any) -> Any:
        with cluster.asking(self._client):
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
                        if problem := cluster.lost(self._client, error):
                            raise problem from error
                        return _without(error)
                if not self._is_there() or monotonic() - began > limit_s:
                    return None
        finally:
            with suppress(Exception):  # a client whose scheduler is lost; the block above says so
                if not future.done():
                    future.cancel()
                future.release()


def _without(error: BaseException) -> tuple[Any, Exception | None] | None:
    """Return what stands for the answer of a task that raised; None if its worker was killed over and over."""
    if isinstance(error, cluster.dask().scheduler.KilledWorker):
        return None
    return None, FailedError("runtime", f"the worker gave no answer: {one_line(error)}")
