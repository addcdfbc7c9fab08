"""The worker's side: it carries out one order at a time on its device, alone on it, and keeps what it compiled."""

from __future__ import annotations

import os
import pickle
import platform
from functools import cache
from hashlib import sha256
from typing import Any

from perfmodel.errors import BrokenDeviceError, KernelTravelError, PerfModelError, UnknownDeviceError
from perfmodel.measuring.bench import Bench
from perfmodel.measuring.lock import lock_path
from perfmodel.measuring.pinning import pin_threads
from perfmodel.measuring.probes.instrument import Instrument
from perfmodel.measuring.probes.visit import points_of
from perfmodel.measuring.remote.hold import Hold
from perfmodel.measuring.remote.order import OWN_DEVICE, Answer, Order, Station
from perfmodel.measuring.subject import FailedError, Subject
from perfmodel.opencl import Device, devices

#: Compiled code of so many campaigns is kept.
PLACES = 4


class _Place:
    """A device of this process under one campaign: its bench, and the subjects that came."""

    def __init__(self, order: Order) -> None:
        self.bench = Bench(own_device(order.slug), order.campaign)
        self._subjects: dict[bytes, Subject] = {}
        self._instrument: Instrument | None = None

    def done(self, order: Order) -> Any:
        """Carry out an order, and return what comes out."""
        if order.method == "versions":
            return dict(self.bench.versions)
        if order.method == "probe":
            self._instrument = self._instrument or Instrument(self.bench.device)
            return points_of(self._instrument, *order.arguments)
        subject = (self._subject(order),) if order.subject else ()
        sizes = () if order.parameters is None else (order.parameters,)
        return getattr(self.bench, order.method)(*subject, *sizes)

    def _subject(self, order: Order) -> Subject:
        """Return the subject of an order, with the code that the caller generated."""
        key = sha256(order.subject).digest()
        if key not in self._subjects:
            try:
                self._subjects[key] = pickle.loads(order.subject)
            except Exception as error:  # whatever the modules that it needs raise
                raise KernelTravelError(order.kernel, f"there, {_one_line(error)}") from error
        return self._subjects[key]


_holds: dict[str, Hold] = {}
_places: dict[tuple[str, str], _Place] = {}


def carry_out(order: Order) -> Answer:
    """Carry out an order alone on the device; what goes wrong is an answer, too.

    A device that another campaign holds is not waited for: the caller does that.
    """
    try:
        hold = _holds.setdefault(order.slug, Hold(own_device(order.slug).facts))
        if order.method == "leave":
            hold.leave(order.token)
            return Answer()
        with hold.kept(order.token):
            return Answer(_place(order).done(order))
    except (FailedError, PerfModelError) as error:
        return Answer(error=error)
    except Exception as error:  # what a class's own functions raise where nothing is made of it
        return Answer(error=FailedError("runtime", _one_line(error)))


def _place(order: Order) -> _Place:
    """Return the place of the order's campaign; those that were not asked for longest are forgotten."""
    key = order.slug, order.token
    _places[key] = _places.pop(key) if key in _places else _Place(order)
    while len(_places) > PLACES:
        del _places[next(iter(_places))]
    return _places[key]


def station(slug: str) -> Answer:
    """Describe this worker's device, and where it is."""
    try:
        device = own_device(slug)
        return Answer(Station(device.index, device.facts, platform.node(), str(lock_path(device.facts))))
    except PerfModelError as error:
        return Answer(error=error)
    except Exception as error:  # whatever a driver makes of a question
        return Answer(error=BrokenDeviceError(slug, _one_line(error)))


def _one_line(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:500]


@cache
def own_device(slug: str) -> Device:
    """Find this process's device; of several equal ones the one that the environment names.

    Raises
    ------
    UnknownDeviceError
        There is none.
    """
    pin_threads()
    listed, own = devices(), os.environ.get(OWN_DEVICE)
    for device in listed:
        if device.slug == slug and own in (None, str(device.index)):
            return device
    raise UnknownDeviceError(slug, tuple(f"{device.index}: {device.name} ({device.platform})" for device in listed))
