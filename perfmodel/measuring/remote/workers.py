"""Campaigns on the devices of Dask workers: each is one task on the worker, and its store stays here.

A worker has a resource with the slug of its device (``perfmodel:nvidia-h200``). The task is the function that measures
on a device of this machine. It works on a copy of the store's files, in a folder of the worker. The lines that it adds
come back in batches, with what it reports of its progress, and are added to the store here.

The task says what it begins before it touches the device. Where its worker dies, it is sent again with what the store
holds by then, to a worker with an equal device.
"""

from __future__ import annotations

import asyncio
import json
import os
import pickle
import platform
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, partialmethod
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic, sleep
from typing import Any, TypeAlias

from perfmodel import cluster, errors
from perfmodel.errors import BrokenDeviceError, DeviceBusyError, NoWorkerError, PerfModelError
from perfmodel.facts import DeviceFacts
from perfmodel.io import replace_file
from perfmodel.kernels import KernelClass
from perfmodel.kernels.files import pickled_by_value
from perfmodel.measuring import supervised
from perfmodel.measuring.bench import outcome
from perfmodel.measuring.lock import lock_path, locked, pin_threads
from perfmodel.measuring.subject import one_line
from perfmodel.opencl import Device, devices
from perfmodel.progress import Progress, Silent
from perfmodel.store import Measurement, append, append_line, canonical

#: A worker with a device has one of this resource, with the device's slug behind it.
RESOURCE = "perfmodel:"
#: Environment variable of a worker: which of equal devices is its own, by its index.
OWN_DEVICE = "PERFMODEL_WORKER_DEVICE"
#: How often batches are fetched, and how often it is looked whether the worker is still there [s].
LOOK_S = 0.5
#: How long to wait for a worker with the device, where the last one is gone [s].
RETURN_S = 60.0
#: Why a worker that was lost while it was asked is not used now; it may come back.
LOST = "it was lost"
#: Message of the record of a configuration over which two workers were lost.
CONDEMNED = f"{supervised.DIED}an unknown cause (its worker was lost) while this was under way, twice"


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


def holder(slug: str) -> DeviceBusyError | None:
    """Return the error that says who has locked this process's device; None where nobody has."""
    try:
        with locked(own_device(slug).facts, Silent()):
            return None
    except DeviceBusyError as error:
        return error


#: Name and pickle of each of some kernel classes.
Pickles: TypeAlias = tuple[tuple[str, bytes], ...]


def packed(kernels: Iterable[KernelClass]) -> Pickles:
    """Return the name and the pickle of each kernel class, or raise KernelTravelError."""
    pickles = []
    for kernel in kernels:
        try:
            pickles.append((kernel.name, pickled_by_value(kernel)))
        except Exception as error:  # whatever a value's own pickling raises
            raise errors.KernelTravelError(kernel.name, one_line(error)) from error
    return tuple(pickles)


def unpacked(pickles: Pickles) -> tuple[KernelClass, ...]:
    """Return on the worker the classes of :func:`packed`; KernelTravelError names one that needs what is not there."""
    kernels = []
    for name, content in pickles:
        try:
            kernels.append(pickle.loads(content))
        except Exception as error:  # whatever the modules that it needs raise
            raise errors.KernelTravelError(name, f"there, {one_line(error)}") from error
    return tuple(kernels)


def carry_out(
    queue: str, slug: str, function: Callable[..., Any], arguments: Sequence[Any], files: Mapping[str, bytes],
    begins: Mapping[str, int], spent_s: float,
) -> None:  # fmt: skip
    """Call ``function(device, folder, progress, *arguments)`` on the worker, and tell the caller of it by a queue.

    `files` holds by name, compressed, what the files of the folder hold already, `begins` how much of each the campaign
    found when it began [bytes], and `spent_s` is the time that it has taken until now [s].
    """
    with TemporaryDirectory(prefix="perfmodel-") as name:
        folder = Path(name)
        for file, content in files.items():
            replace_file(folder / file, zlib.decompress(content), durable=False)
        reports = Reports(cluster.dask().Queue(queue), [folder / file for file in files])
        found = {str(folder / file): octets for file, octets in begins.items()}
        try:
            with supervised.supervised_by(supervised.Supervisor(reports.under_way, found, spent_s)):
                function(own_device(slug), folder, reports, *arguments)
        finally:
            reports.send()


class Reports:
    """The progress of a campaign on a worker: the caller gets it, with the lines that were added to the files.

    CancelledError ends the campaign once the caller has ended, or has cancelled the task.
    """

    def __init__(self, queue: Any, files: Sequence[Path]) -> None:
        worker = cluster.dask().get_worker()
        self._queue, self._tasks, self._task = queue, worker.state.tasks, worker.get_current_task()
        self._sent = {file: file.stat().st_size for file in files}
        self._reports: list[tuple[str, Any]] = []
        self.send()

    def _note(self, report: str, *arguments: Any) -> None:
        """Keep a report until the next batch; what the user should know is sent at once, before a wait."""
        self._reports.append((report, arguments))
        if report == "tell":
            self.send()

    start, advance = partialmethod(_note, "start"), partialmethod(_note, "advance")
    stop, tell = partialmethod(_note, "stop"), partialmethod(_note, "tell")

    def under_way(self, document: Any) -> None:
        """Say what begins, so that the caller knows before the device is touched; None: it has ended."""
        self._reports.append(("under_way", (document,)))
        if document is not None:
            self.send()

    def send(self) -> None:
        """Send what was reported, and what was written, since the last time."""
        task = self._tasks.get(self._task)
        if task is None or task.state == "cancelled":
            raise CancelledError("the campaign's caller has ended")
        batch = {file.name: self._added(file) for file in self._sent}, self._reports
        self._queue.put(pickle.dumps(batch))
        self._reports = []

    def _added(self, file: Path) -> bytes:
        """Return the lines that were added to a file of lines; all of another one, nothing if it is gone."""
        if not file.is_file():
            return b""
        with file.open("rb") as stream:
            stream.seek(self._sent[file] if file.suffix == ".jsonl" else 0)
            content = stream.read()
            self._sent[file] = stream.tell()
        return content


class Caller:
    """A campaign on a worker's device, as its caller knows it.

    The worker gets a copy of the `files` of a store, the records first, which lie in one folder. One worker does all as
    long as it lives, so that the times of a campaign are of one device. `progress` is told when another one takes over,
    and of another campaign on the device, which is waited for up to `wait_s` [s].
    """

    def __init__(self, device: WorkersDevice, files: Sequence[Path], progress: Progress, wait_s: float) -> None:
        self._device, self._client, self._progress = device, device.client, progress
        self._store, self._files, self._wait_s = files[0], {file.name: file for file in files}, wait_s
        self._worker, self._waits = "", False
        self._unfit: dict[str, str] = {}  # workers that are not used, and why
        self._begun = self._worked = False  # whether the task says anything, and whether it began any work
        self._shown = False  # whether the progress shows a task
        self._report: Mapping[str, Any] | None = None  # of what is under way
        self._suspect = ""  # that over which a worker was lost

    def run(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Call a function on a worker, and on another one where that dies, until it has returned; raise its error.

        NoWorkerError says that no worker with the device is left, DeviceBusyError that another campaign on it does not
        end in time, BrokenDeviceError that two workers died before they began anything.
        """
        began, idle = monotonic(), False
        begins = {name: len(whole_lines(file)) for name, file in self._files.items()}
        while True:
            self._choose_worker()
            files = {name: zlib.compress(whole_lines(file), 1) for name, file in self._files.items()}
            try:
                if self._done(self._device.slug, function, arguments, files, begins, monotonic() - began):
                    return
                self._judge()
            finally:
                if self._shown:  # the worker was lost in the middle of a task, or this process is interrupted
                    self._progress.stop()
                    self._shown = False
            if idle and not self._worked:
                raise BrokenDeviceError(self._device.name, "two workers were lost when they opened it")
            idle = not self._worked

    def _done(self, *order: Any) -> bool:
        """Follow a task to its end, and write what it sends; return False if its worker is lost."""
        killed = cluster.dask().scheduler.KilledWorker
        self._begun, self._worked, self._report, since = False, False, None, monotonic()
        with cluster.asking(self._client):
            queue = cluster.dask().Queue(client=self._client)
            future = self._client.submit(
                carry_out, queue.name, *order, workers=[self._worker], allow_other_workers=False,
                resources={resource(self._device.slug): 1}, pure=False,
            )  # fmt: skip
        try:
            while True:
                there = self._is_there()
                with cluster.asking(self._client):
                    try:
                        future.result(timeout=LOOK_S)
                    except Exception as error:
                        if future.status != "error" and not isinstance(error, asyncio.TimeoutError | TimeoutError):
                            raise
                    batches = queue.get(batch=True)
                for batch in batches:
                    self._take(*pickle.loads(batch))
                if future.status == "error" and not isinstance(raised := future.exception(), killed):
                    raise raised
                if future.done() or not there:
                    return bool(future.status == "finished")
                if not self._begun and monotonic() - since > LOOK_S:
                    self._wait_for_turn(since)
        finally:
            with suppress(Exception):  # a client whose scheduler is lost; the block above says so
                future.cancel()
                queue.close()

    def _take(self, added: Mapping[str, bytes], reports: Iterable[tuple[str, Any]]) -> None:
        """Write what the worker has written, and pass on what it reports."""
        self._begun = True
        for name, content in added.items():
            file = self._files[name]
            if file.suffix == ".jsonl":
                for line in content.splitlines():
                    append_line(file, json.loads(line))
            elif content:
                replace_file(file, content)
            else:
                file.unlink(missing_ok=True)
        for method, arguments in reports:
            if method != "under_way":
                self._shown = method == "start" or (self._shown and method != "stop")
                getattr(self._progress, method)(*arguments)
                continue
            (report,) = arguments
            if report is None and self._name == self._suspect:  # the worker has outlived it
                self._suspect = ""
            self._report, self._worked = report, True

    @property
    def _name(self) -> str:
        """What is under way, for messages."""
        report = self._report or {}
        if record := report.get("record"):
            return " ".join([record["kernel"], canonical(record["variant"]), canonical(record["parameters"])])
        return str(report.get("name", ""))

    def _judge(self) -> None:
        """Say over what the worker was lost; over which one was lost before, that is recorded as failed."""
        if self._report is None:  # nothing was under way; who takes over is told
            return
        record = self._report.get("record")
        if record and self._name == self._suspect:
            failed = {"status": "runtime", "message": CONDEMNED}
            row = Measurement.model_validate(record).model_copy(update=failed)
            append(self._store, row)
            self._progress.advance(outcome(row))
            self._suspect = ""
        else:
            self._suspect = self._name
            lost = f"the worker {self._worker} was lost while this was under way"
            self._progress.tell(f"{self._name}: {lost}; tried again")

    def _is_there(self) -> bool:
        return self._worker in having(self._client).get(self._device.slug, ())

    def _wait_for_turn(self, since: float) -> None:
        """Tell of another campaign that has the worker's device; DeviceBusyError once the wait has been too long."""
        with cluster.asking(self._client):
            (busy,) = self._client.run(holder, self._device.slug, workers=[self._worker], on_error="return").values()
        if not isinstance(busy, DeviceBusyError):
            return
        if monotonic() - since >= self._wait_s:
            raise DeviceBusyError(busy.device, self._wait_s, busy.holder, busy.path)
        if not self._waits:
            self._waits = True
            message = f"waiting up to {self._wait_s:g} s for another campaign on {busy.device}: {busy.holder}"
            self._progress.tell(message)

    def _choose_worker(self) -> None:
        """Where the worker is gone, take another one with an equal device and our versions, once there is one.

        A worker that is lost while it is asked may come back, and is asked again.
        """
        until = monotonic() + RETURN_S
        while not (self._worker and self._is_there()):
            workers = having(self._client)
            for worker in workers.get(self._device.slug, ()):
                if self._unfit.get(worker, LOST) != LOST:
                    continue
                if not (problem := self._problem(worker)):
                    if self._worker and self._report is None:
                        self._progress.tell(f"the worker {self._worker} is gone; going on with {worker}")
                    self._worker = worker
                    return
                if self._unfit.get(worker) != problem:
                    self._progress.tell(f"the worker {worker} is not used: {problem}")
                self._unfit[worker] = problem
            if monotonic() > until:
                raise NoWorkerError(self._device.slug, cluster.address_of(self._client), tuple(workers), RETURN_S)
            sleep(LOOK_S)

    def _problem(self, worker: str) -> str:
        """Return why a worker cannot take over; "" if it can."""
        try:
            cluster.check_versions(self._client, [worker])
            answer = described(self._client, worker, self._device.slug)
        except errors.SchedulerError:
            raise
        except PerfModelError as error:
            return str(error)
        if answer is None:
            return LOST
        equal = answer[1].hash == self._device.facts.hash
        return "" if equal else f"its {self._device.slug} is another device, or has another driver"


def whole_lines(file: Path) -> bytes:
    """Return what a file holds, but for a last line that its writer has not ended; nothing if there is no file."""
    content = file.read_bytes() if file.is_file() else b""
    return content[: content.rfind(b"\n") + 1]
