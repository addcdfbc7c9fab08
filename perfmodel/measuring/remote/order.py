"""What a worker is asked to do on a device, and what it answers; both travel between processes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from perfmodel.errors import PerfModelError
from perfmodel.facts import DeviceFacts
from perfmodel.measuring.campaign import Campaign
from perfmodel.measuring.subject import FailedError

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
class Order:
    """One thing to do on a device.

    Parameters
    ----------
    slug : str
        The device.
    campaign : Campaign
        The settings.
    token : str
        Of the campaign's bench; a worker keeps compiled code as long as orders have the same one.
    method : str
        What to do: a method of a bench, ``versions``, ``probe``, or ``leave`` where no more orders come.
    arguments : tuple
        Of the method, where it needs no subject.
    kernel : str
        Name of the subject's class.
    subject : bytes
        The subject with its generated code, pickled; empty where none is needed.
    parameters : mapping
        The sizes, if the method takes them.
    """

    slug: str
    campaign: Campaign
    token: str
    method: str
    arguments: tuple[Any, ...] = ()
    kernel: str = ""
    subject: bytes = b""
    parameters: Mapping[str, int] | None = None


@dataclass(frozen=True)
class Answer:
    """The value that came out, or the error."""

    value: Any = None
    error: PerfModelError | FailedError | None = None

    def taken(self) -> Any:
        """Return the value, or raise the error."""
        if self.error is not None:
            raise self.error
        return self.value


@dataclass(frozen=True)
class Station:
    """Where a worker has a device: what the device reports, the worker's machine, and the lock of the device there.

    Devices with the same machine and lock are measured in turn, as all drivers of one CPU are.
    """

    index: int
    facts: DeviceFacts
    machine: str
    lock: str
