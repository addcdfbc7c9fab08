"""A device of workers: a bench that forwards what touches the device to one of them, and keeps all else here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any
from uuid import uuid4

from perfmodel.errors import BrokenDeviceError, KernelTravelError, NoDeviceError
from perfmodel.facts.probes.run import Point
from perfmodel.kernels import Parameters
from perfmodel.kernels.by_value import pickled_by_value
from perfmodel.measuring.bench import AnyBench
from perfmodel.measuring.campaign import Campaign
from perfmodel.measuring.probes.probe import Earlier, Probe, Settings
from perfmodel.measuring.progress import Progress
from perfmodel.measuring.remote.client import chosen_slug
from perfmodel.measuring.remote.crew import Crew
from perfmodel.measuring.remote.order import Order
from perfmodel.measuring.subject import FailedError, Subject
from perfmodel.measuring.timing import Samples
from perfmodel.opencl import Device
from perfmodel.store import canonical


@dataclass(frozen=True)
class WorkersDevice(Device):
    """A device that Dask workers have; its index is the one on the first of them."""

    crew: Crew = field(compare=False)

    def context(self) -> tuple[Any, Any]:
        """Refuse: only the workers can open it."""
        raise NoDeviceError(f"the OpenCL device '{self.name}' is a Dask worker's, and cannot be opened here")


def workers_device(client: Any, selector: str | None = None) -> WorkersDevice:
    """Find a device of a scheduler's workers, by a slug or a part of one; left out: the only one.

    Raises
    ------
    NoWorkerError
        No worker has it.
    AmbiguousDeviceError
        It may be several.
    WorkerVersionError
        A worker with the device has other versions than this process.
    """
    crew = Crew(client, chosen_slug(client, selector))
    return WorkersDevice(crew.station.index, crew.station.facts, crew)


class WorkersBench(AnyBench):
    """A bench whose device is a worker's.

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
        self._crew, self._progress = device.crew, progress
        self._blank = Order(device.slug, campaign, uuid4().hex, "")
        self._pickles: dict[Subject, bytes] = {}

    @cached_property
    def versions(self) -> Mapping[str, str]:
        """Versions of what times depend on, on the worker."""
        found: dict[str, str] = self._asked("versions")
        return found

    def launch_overhead(self) -> float:
        """Time of a kernel that does nothing [s]; raises as :meth:`AnyBench.launch_overhead` does."""
        return float(self._asked("launch_overhead"))

    def see_that_it_works(self) -> None:
        """Open the device again if it runs nothing any more; raises as :meth:`AnyBench.see_that_it_works` does."""
        self._asked("see_that_it_works")

    def trial(self, subject: Subject, parameters: Parameters) -> float:
        """Quickest of some runs [s]."""
        return float(self._asked_of("trial", subject, parameters))

    def timed(self, subject: Subject, parameters: Parameters) -> tuple[str, Samples]:
        """Time the runs of one visit; return when the first of them began, too."""
        found: tuple[str, Samples] = self._asked_of("timed", subject, parameters)
        return found

    def check(self, subject: Subject) -> None:
        """Compare the subject's output with its reference; raises as :meth:`AnyBench.check` does."""
        self._asked_of("check", subject)

    def probe(self, probe: Probe, settings: Settings, earlier: Earlier) -> tuple[tuple[Point, ...], str]:
        """Time the configurations of a probe, and say what went wrong."""
        try:
            order = replace(self._blank, method="probe", arguments=(probe.name, settings, earlier))
            found: tuple[tuple[Point, ...], str] = self._carried_out(order, f"probe {probe.name}")
            return found
        except FailedError as failure:
            return (), failure.message

    def leave(self) -> None:
        """Let other campaigns have the device at once; else the worker waits whether more orders come."""
        self._crew.leave(replace(self._blank, method="leave"))

    def _asked(self, method: str) -> Any:
        try:
            return self._carried_out(replace(self._blank, method=method), "the empty kernel")
        except FailedError as failure:
            raise BrokenDeviceError(self.device.name, failure.message) from failure

    def _asked_of(self, method: str, subject: Subject, parameters: Parameters | None = None) -> Any:
        order = replace(
            self._blank,
            method=method,
            kernel=subject.kernel.name,
            subject=self._pickled(subject),
            parameters=parameters,
        )
        sizes = "" if parameters is None else f" {canonical(parameters)}"
        return self._carried_out(order, f"{subject.kernel.name} {canonical(subject.variant)}{sizes}")

    def _carried_out(self, order: Order, name: str) -> Any:
        return self._crew.ask(order, name, self._progress, self.campaign.wait_s)

    def _pickled(self, subject: Subject) -> bytes:
        if subject not in self._pickles:
            subject.generated  # noqa: B018 -- here and not on the worker, where a failure has its status
            try:
                self._pickles[subject] = pickled_by_value(subject)
            except Exception as error:  # whatever a value's own pickling raises
                raise KernelTravelError(subject.kernel.name, f"{type(error).__name__}: {error}") from error
        return self._pickles[subject]
