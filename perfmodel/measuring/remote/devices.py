"""The devices of a scheduler's workers: which there are, which is meant, and where each of them is."""

from __future__ import annotations

import asyncio
import os
import platform
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from perfmodel.cluster import address_of, asking, check_versions, workers_of
from perfmodel.errors import AmbiguousDeviceError, BrokenDeviceError, NoDeviceError, NoWorkerError, UnknownDeviceError
from perfmodel.facts import DeviceFacts
from perfmodel.measuring.lock import lock_path, pin_threads
from perfmodel.opencl import Device, devices

#: A worker with a device has one of this resource, with the device's slug behind it.
RESOURCE = "perfmodel:"
#: Environment variable of a worker: which of equal devices is its own, by its index.
OWN_DEVICE = "PERFMODEL_WORKER_DEVICE"


def resource(slug: str) -> str:
    """Name of the resource of workers that have a device.

    Examples
    --------
    >>> resource("nvidia-h200")
    'perfmodel:nvidia-h200'
    """
    return f"{RESOURCE}{slug}"


@dataclass(frozen=True)
class WorkersDevice(Device):
    """A device that Dask workers have; its index, and its lock, are those on the first of them."""

    client: Any = field(compare=False)
    lock: str = field(compare=False)

    def context(self) -> tuple[Any, Any]:
        """Refuse: only the workers can open it."""
        raise NoDeviceError(f"the OpenCL device '{self.name}' is a Dask worker's, and cannot be opened here")


def having(client: Any) -> dict[str, list[str]]:
    """Return the addresses of the workers that have each device, by its slug.

    Raises
    ------
    SchedulerError
        The scheduler does not answer any more.
    """
    workers: dict[str, list[str]] = {}
    for address, worker in sorted(workers_of(client).items()):
        for name, number in worker.get("resources", {}).items():
            if name.startswith(RESOURCE) and number >= 1:
                workers.setdefault(name.removeprefix(RESOURCE), []).append(address)
    return dict(sorted(workers.items()))


def chosen_slug(client: Any, selector: str | None) -> str:
    """Return the device of the workers that is meant: a slug, the begin of only one, else a part of only one.

    So ``intel`` is Intel's runtime beside PoCL on an Intel processor, as it is without a scheduler.

    Raises
    ------
    NoWorkerError
        No worker has it.
    AmbiguousDeviceError
        It may be several.
    """
    slugs, wanted = tuple(having(client)), (selector or "").strip().lower()
    rules: tuple[Callable[[str, str], bool], ...] = (str.__eq__, str.startswith, str.__contains__)
    matching = next((found for rule in rules if (found := tuple(slug for slug in slugs if rule(slug, wanted)))), ())
    if not matching:
        raise NoWorkerError(selector or "", address_of(client), slugs)
    if len(matching) > 1:
        raise AmbiguousDeviceError(selector or "", matching)
    return matching[0]


def workers_device(client: Any, selector: str | None = None) -> WorkersDevice:
    """Find a device of a scheduler's workers, by a slug or a part of one; left out: the only one.

    Raises
    ------
    NoWorkerError, AmbiguousDeviceError
        As :func:`chosen_slug` does.
    WorkerVersionError
        A worker with the device has other versions than this process.
    BrokenDeviceError
        Its workers are lost, or cannot say what the device is, when they are asked.
    """
    slug = chosen_slug(client, selector)
    workers = having(client).get(slug, [])
    check_versions(client, workers)
    for worker in workers:
        if answer := described(client, worker, slug):
            return WorkersDevice(answer[0], answer[1], client, answer[2])
    raise BrokenDeviceError(slug, "its workers were lost when they were asked for it")


def turns(client: Any) -> tuple[tuple[str, ...], ...]:
    """Return the devices of all workers; those of one machine that share a lock are together, and are measured in turn.

    Raises
    ------
    WorkerVersionError
        A worker with a device has other versions.
    """
    sharing: dict[str, list[str]] = {}
    for slug in having(client):
        sharing.setdefault(workers_device(client, slug).lock, []).append(slug)
    return tuple(map(tuple, sharing.values()))


def described(client: Any, worker: str, slug: str) -> tuple[int, DeviceFacts, str] | None:
    """Return index, facts and lock of a worker's device; None where the worker is lost.

    Raises
    ------
    BrokenDeviceError, UnknownDeviceError
        The worker cannot say what the device is, or does not have it.
    """
    with asking(client):
        (answer,) = client.run(describe, slug, workers=[worker], on_error="return").values()
    if isinstance(answer, OSError | asyncio.TimeoutError):  # what Dask says of a worker that it cannot reach
        return None
    if isinstance(answer, Exception):
        ours = isinstance(answer, BrokenDeviceError | UnknownDeviceError)
        raise answer if ours else BrokenDeviceError(slug, one_line(answer))
    index, facts, lock = answer
    return index, facts, lock


def describe(slug: str) -> tuple[int, DeviceFacts, str]:
    """Return index, facts and lock of this process's device; the lock with the name of this machine."""
    device = own_device(slug)
    return device.index, device.facts, f"{platform.node()}:{lock_path(device.facts)}"


@cache
def own_device(slug: str) -> Device:
    """Find this process's device; of several equal ones the one that the environment names.

    Raises
    ------
    UnknownDeviceError
        There is none.
    """
    pin_threads()
    listed, index = devices(), os.environ.get(OWN_DEVICE)
    for device in listed:
        if device.slug == slug and index in (None, str(device.index)):
            return device
    raise UnknownDeviceError(slug, tuple(f"{device.index}: {device.name} ({device.platform})" for device in listed))


def one_line(error: BaseException) -> str:
    """Return in one line what an exception says."""
    return " ".join(f"{type(error).__name__}: {error}".split())[:500]
