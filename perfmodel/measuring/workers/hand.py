"""The worker's side: it carries out one order at a time on its device, alone on it, and keeps what it compiled."""

from __future__ import annotations

import os
import pickle
import platform
from functools import cache
from typing import Any

from perfmodel.errors import PerfModelError, UnknownDeviceError
from perfmodel.measuring.bench import Bench
from perfmodel.measuring.lock import lock_path, locked
from perfmodel.measuring.pinning import pin_threads
from perfmodel.measuring.probes.instrument import Instrument
from perfmodel.measuring.probes.visit import points_of
from perfmodel.measuring.progress import Silent
from perfmodel.measuring.subject import FailedError, Subject
from perfmodel.measuring.workers.order import OWN_DEVICE, Answer, Order, Station
from perfmodel.opencl import Device, devices
from perfmodel.store import canonical


class _Place:
    """A device of this process under one campaign: its bench, and the subjects whose code was generated."""

    def __init__(self, order: Order) -> None:
        self.token = order.token
        self.bench = Bench(own_device(order.slug), order.campaign)
        self._subjects: dict[tuple[bytes, str], Subject] = {}
        self._instrument: Instrument | None = None

    def done(self, order: Order) -> Any:
        """Carry out an order, and return what comes out."""
        if order.method == "versions":
            return dict(self.bench.versions)
        if order.method == "probe":
            self._instrument = self._instrument or Instrument(self.bench.device)
            return points_of(self._instrument, *order.arguments)
        subject = (self._subject(order),) if order.kernel else ()
        sizes = () if order.parameters is None else (order.parameters,)
        return getattr(self.bench, order.method)(*subject, *sizes)

    def _subject(self, order: Order) -> Subject:
        """Return the subject of an order; its code must be the one that was counted."""
        key = (order.kernel, canonical(order.variant))
        if key not in self._subjects:
            self._subjects[key] = Subject(pickle.loads(order.kernel), order.variant)
        subject = self._subjects[key]
        if subject.generated.hash != order.code:
            message = "the worker generates other code than the caller; a class must always build the same"
            raise FailedError("compile", message)
        return subject


_places: dict[str, _Place] = {}


def carry_out(order: Order) -> Answer:
    """Carry out an order alone on the device; what goes wrong is an answer, too.

    A device that another campaign holds is not waited for: the caller does that.
    """
    try:
        with locked(own_device(order.slug).facts, Silent()):
            place = _places.get(order.slug)
            if place is None or place.token != order.token:
                place = _places[order.slug] = _Place(order)
            return Answer(place.done(order))
    except (FailedError, PerfModelError) as error:
        return Answer(error=error)


def station(slug: str) -> Answer:
    """Describe this worker's device, and where it is."""
    try:
        device = own_device(slug)
    except PerfModelError as error:
        return Answer(error=error)
    return Answer(Station(device.index, device.facts, platform.node(), str(lock_path(device.facts))))


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
