"""The workers that have one device: one of them carries out orders, and another takes over where it dies."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from time import monotonic, sleep
from typing import Any

from perfmodel.cluster import address_of, asking, check_versions, dask, lost
from perfmodel.errors import BrokenDeviceError, DeviceBusyError, NoWorkerError, PerfModelError, SchedulerError
from perfmodel.measuring.lock import POLL_S
from perfmodel.measuring.progress import Progress
from perfmodel.measuring.remote.client import having
from perfmodel.measuring.remote.hand import carry_out, station
from perfmodel.measuring.remote.order import Answer, Order, Station, resource
from perfmodel.measuring.subject import FailedError
from perfmodel.measuring.supervised import DIED

#: How often it is looked whether a worker that has not answered is still there [s].
LOOK_S = 0.5
#: How long to wait for a worker with the device, where the last one is gone [s].
RETURN_S = 60.0
#: A configuration over which so many workers died is not tried again.
DEATHS = 2


class Crew:
    """Workers that have a device.

    All orders go to one of them as long as it lives, so that the times of a campaign are of one device.

    Parameters
    ----------
    client : distributed.Client
        Of the scheduler.
    slug : str
        The device.
    """

    def __init__(self, client: Any, slug: str) -> None:
        self.client = client
        self.slug = slug
        self._worker = ""
        self._told = True
        self._station: Station | None = None
        self._refused: set[str] = set()
        self._deaths: Counter[str] = Counter()

    @property
    def station(self) -> Station:
        """Where the device is; that of the first worker that was asked.

        Raises
        ------
        NoWorkerError
            No worker has the device.
        WorkerVersionError
            One of them has other versions.
        BrokenDeviceError
            Workers are lost, or cannot say what the device is, when they are asked.
        """
        if self._station is None:
            workers = having(self.client).get(self.slug)
            if not workers:
                raise NoWorkerError(self.slug, address_of(self.client), tuple(having(self.client)))
            self._station = self._first_station()
        return self._station

    def _first_station(self) -> Station:
        for _ in range(DEATHS):
            self._worker = self._present()
            check_versions(self.client, having(self.client).get(self.slug, []))
            answer = self._asked(station, self.slug)
            if answer is not None:
                return self._described(answer)
        raise BrokenDeviceError(self.slug, f"{DEATHS} of its workers were lost when they were asked for it")

    def _described(self, answer: Answer) -> Station:
        try:
            found: Station = answer.taken()
        except FailedError as failure:
            raise BrokenDeviceError(self.slug, failure.message) from failure
        return found

    def ask(self, order: Order, name: str, progress: Progress, wait_s: float) -> Any:
        """Have a worker carry out an order, and return what comes out.

        A worker that dies over it is replaced, and the order is tried again; the user is told.

        Parameters
        ----------
        order : Order
            What to do.
        name : str
            The configuration that is under way, in messages.
        progress : Progress
            It is told of deaths, and of other campaigns that are waited for.
        wait_s : float
            How long to wait for another campaign on the device [s].

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
            self._take_over(progress)
            answer = self._asked(carry_out, order)
            if answer is None:
                self._died(name, progress)
            elif isinstance(answer.error, DeviceBusyError):
                busy = answer.error
                if since is None:
                    since = monotonic()
                    progress.tell(f"waiting up to {wait_s:g} s for another campaign on {busy.device}: {busy.holder}")
                if monotonic() - since >= wait_s:
                    raise DeviceBusyError(busy.device, wait_s, busy.holder, busy.path)
                sleep(POLL_S)
            else:
                self._deaths.pop(name, None)
                return answer.taken()

    def leave(self, order: Order) -> None:
        """Tell the worker by this order that no more come; one that is gone need not know."""
        with suppress(PerfModelError):
            if self._worker in having(self.client).get(self.slug, ()):
                self._asked(carry_out, order)

    def _died(self, name: str, progress: Progress) -> None:
        self._deaths[name] += 1
        self._told = True
        if self._deaths[name] >= DEATHS:
            message = f"{DIED}an unknown cause (its worker was lost) while this was under way, twice"
            raise FailedError("runtime", message)
        progress.tell(f"{name}: the worker {self._worker} was lost while this was under way; tried again")

    def _take_over(self, progress: Progress) -> None:
        """Choose another worker where the last one is gone: one with an equal device and our versions."""
        while self._worker not in having(self.client).get(self.slug, ()):
            gone, self._worker = self._worker, self._present()
            if problem := self._unfit():
                self._refused.add(self._worker)
                progress.tell(f"the worker {self._worker} is not used: {problem}")
                self._worker = gone
            elif not self._told:
                progress.tell(f"the worker {gone} is gone; going on with {self._worker}")
        self._told = False

    def _unfit(self) -> str:
        """Return why the worker cannot take the place of the first one; "" if it can."""
        try:
            check_versions(self.client, [self._worker])
            found = self._asked(station, self.slug)
            if found is not None and self._described(found).facts.hash == self.station.facts.hash:
                return ""
            return "it was lost" if found is None else f"its {self.slug} is another device, or has another driver"
        except SchedulerError:
            raise
        except PerfModelError as error:
            return str(error)

    def _present(self) -> str:
        """Return a worker that has the device, after waiting for one to come."""
        began = monotonic()
        while True:
            found = having(self.client)
            if workers := [one for one in found.get(self.slug, ()) if one not in self._refused]:
                return workers[0]
            if monotonic() - began > RETURN_S:
                raise NoWorkerError(self.slug, address_of(self.client), tuple(found), RETURN_S)
            sleep(LOOK_S)

    def _asked(self, function: Callable[[Any], Answer], argument: Any) -> Answer | None:
        """Call a function on the worker; None if the worker died."""
        with asking(self.client):
            future = self.client.submit(
                function, argument, workers=[self._worker], allow_other_workers=False,
                resources={resource(self.slug): 1}, pure=False,
            )  # fmt: skip
        try:
            while True:
                try:
                    answer: Answer = future.result(timeout=LOOK_S)
                    return answer
                except (Exception, asyncio.CancelledError) as error:
                    if future.status == "error":  # raised there; a TimeoutError may also be of the line above
                        return _without(future.exception())
                    if not isinstance(error, asyncio.TimeoutError | TimeoutError):
                        if problem := lost(self.client, error):
                            raise problem from error
                        return _without(error)
                if self._worker not in having(self.client).get(self.slug, ()):
                    return None
        finally:
            with suppress(Exception):  # a client whose scheduler is lost; the block above says so
                if not future.done():
                    future.cancel()
                future.release()


def _without(error: BaseException) -> Answer | None:
    """Return what stands for the answer of a call that raised; None if its worker was killed over and over."""
    if isinstance(error, dask().scheduler.KilledWorker):
        return None
    problem = " ".join(f"{type(error).__name__}: {error}".split())[:500]
    return Answer(error=FailedError("runtime", f"the worker gave no answer: {problem}"))
