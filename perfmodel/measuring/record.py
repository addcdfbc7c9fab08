"""An opened device on which variants are compiled, checked and timed, and the record of one visit."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from perfmodel.errors import BrokenDeviceError
from perfmodel.kernels import Parameters
from perfmodel.measuring.campaign import Campaign
from perfmodel.measuring.subject import (
    ArrayArgument,
    CompiledCode,
    Enqueue,
    Subject,
    contents,
    device_buffer,
    fits,
    host_array,
    scalar_arguments,
    stage,
)
from perfmodel.measuring.timing import Samples, now, sample, versions
from perfmodel.opencl import quiet_compiler
from perfmodel.progress import FailedStep
from perfmodel.store import Measurement

if TYPE_CHECKING:
    from perfmodel.opencl import Device


#: Runs of the empty kernel, and how many of the first do not count.
OVERHEAD_RUNS, OVERHEAD_DROPPED = 30, 4


class AnyBench(ABC):
    """A device on which a campaign checks and times variants, in this process or elsewhere.

    Parameters
    ----------
    device : Device
        The device.
    campaign : Campaign
        The settings of the campaign.
    """

    def __init__(self, device: Device, campaign: Campaign) -> None:
        self.device = device
        self.campaign = campaign

    def fact(self, key: str) -> int:
        """Look up a whole number among the facts that the device reports."""
        return int(self.device.facts.value(key))

    def fits(self, subject: Subject, parameters: Parameters) -> bool:
        """Whether the subject's arrays fit into the share of the memory that the campaign may fill."""
        most = self.campaign.memory_fraction * self.fact("global_memory_bytes")
        return fits(subject.arrays(parameters), most, self.fact("max_alloc_bytes"))

    @property
    @abstractmethod
    def versions(self) -> Mapping[str, str]:
        """Versions of what times depend on, where the device is."""

    @abstractmethod
    def trial(self, subject: Subject, parameters: Parameters) -> float:
        """Quickest of three runs, or of two long ones, the first of which may compile [s]."""

    @abstractmethod
    def timed(self, subject: Subject, parameters: Parameters) -> tuple[str, Samples]:
        """Time the runs of one visit; return when the first of them began, too."""

    @abstractmethod
    def launch_overhead(self) -> float:
        """Time of a kernel that does nothing [s].

        It is the median, not the minimum: sizes are chosen by it, and one lucky run should not change them.

        Raises
        ------
        BrokenDeviceError
            Not even that kernel runs.
        """

    @abstractmethod
    def see_that_it_works(self) -> None:
        """Open the device again if it runs nothing any more, as after the crash of a kernel.

        Raises
        ------
        BrokenDeviceError
            It runs nothing after that either.
        """

    @abstractmethod
    def check(self, subject: Subject) -> None:
        """Compare the subject's output with its reference at its smallest size.

        Raises
        ------
        FailedError
            They differ by more than the class tolerates.
        """


class Bench(AnyBench):
    """A device of this machine with a context, a queue, and the code that was compiled for it."""

    def __init__(self, device: Device, campaign: Campaign) -> None:
        super().__init__(device, campaign)
        self._compiled: dict[tuple[str, ...], CompiledCode] = {}
        self._blocks: dict[np.dtype[Any], Any] = {}

    @cached_property
    def _opened(self) -> tuple[Any, Any]:
        return self.device.context()

    @property
    def queue(self) -> Any:
        """The command queue: in order, with profiling."""
        return self._opened[1]

    @property
    def versions(self) -> Mapping[str, str]:
        """Versions of what times depend on."""
        return versions()

    def compiled(self, subject: Subject) -> CompiledCode:
        """Compile the subject's code for the device, once with each set of the compiler's options."""
        generated = subject.generated
        key = (generated.hash, *generated.kernel.options.build_options)
        if key not in self._compiled:
            with stage("compile"):
                self._compiled[key] = generated.compile(self._opened[0])
        return self._compiled[key]

    @contextmanager
    def ready(self, subject: Subject, parameters: Parameters) -> Iterator[tuple[Enqueue, ...]]:
        """Give what one call enqueues, with arguments set and buffers filled while the context lasts."""
        compiled = self.compiled(subject)
        scalars, arrays = _arguments(subject, parameters)
        with stage("runtime"):
            buffers: dict[str, Any] = {}
            try:
                for array in arrays:
                    buffers[array.name] = device_buffer(self.queue, array, self._filling(subject, array))
                yield compiled.enqueues(self.queue, {**buffers, **scalars})
            finally:
                for buffer in buffers.values():
                    buffer.release()

    def trial(self, subject: Subject, parameters: Parameters) -> float:
        """Quickest of three runs, or of two long ones, the first of which may compile [s]."""
        with self.ready(subject, parameters) as enqueues:
            first = sample(self.queue, enqueues, 1).host_s
            return min(first + sample(self.queue, enqueues, 2, self.campaign.longest_s).host_s)

    def timed(self, subject: Subject, parameters: Parameters) -> tuple[str, Samples]:
        """Time the runs of one visit; return when the first of them began, too."""
        campaign = self.campaign
        with self.ready(subject, parameters) as enqueues:
            began_at = now("milliseconds")
            return began_at, sample(self.queue, enqueues, campaign.runs, campaign.timeout_s, campaign.enough)

    def launch_overhead(self) -> float:
        """Time of a kernel that does nothing [s]; raises as :meth:`AnyBench.launch_overhead` does."""
        import pyopencl as cl

        try:
            with quiet_compiler():
                program = cl.Program(self._opened[0], "__kernel void nothing() {}").build()
            nothing = Enqueue(cl.Kernel(program, "nothing"), (1,), (1,))
            return sample(self.queue, (nothing,), OVERHEAD_RUNS).median(OVERHEAD_DROPPED)
        except cl.Error as error:
            raise BrokenDeviceError(self.device.name, " ".join(str(error).split())) from error

    def see_that_it_works(self) -> None:
        """Open the device again if it runs nothing any more; raises as :meth:`AnyBench.see_that_it_works` does."""
        try:
            self.launch_overhead()
        except BrokenDeviceError:
            self._compiled.clear()
            vars(self).pop("_opened", None)
            self.launch_overhead()

    def output(self, subject: Subject, parameters: Parameters) -> tuple[dict[str, Any], dict[str, Any]]:
        """Run once and return the arguments by name as they were passed, and all arrays as they are afterwards."""
        import pyopencl as cl

        compiled, queue = self.compiled(subject), self.queue
        scalars, arrays = _arguments(subject, parameters)
        with stage("runtime"):
            draw = subject.kernel.contents
            memory = {
                array.name: host_array(array, self.campaign.seed + place, draw.get(array.name))
                for place, array in enumerate(arrays)
            }
            buffers = {array.name: device_buffer(queue, array, memory[array.name]) for array in arrays}
            for enqueue in compiled.enqueues(queue, {**buffers, **scalars}):
                enqueue(queue)
            after = {}
            for array in arrays:
                flat = np.empty_like(memory[array.name])
                cl.enqueue_copy(queue, flat, buffers[array.name])
                after[array.name] = array.view(flat)
        passed = {array.name: array.view(memory[array.name]) for array in arrays}
        return {**passed, **scalars}, after

    def check(self, subject: Subject) -> None:
        """Compare the subject's output with its reference; raises as :meth:`AnyBench.check` does."""
        arguments, after = self.output(subject, subject.smallest)
        with stage("correctness"):
            expected = subject.kernel.reference(arguments, **subject.variant)
            for name, array in expected.items():
                np.testing.assert_allclose(after[name], array, rtol=subject.kernel.tolerance, err_msg=name)

    def _filling(self, subject: Subject, array: ArrayArgument) -> Any:
        """Contents of an array: what its class draws, else one block of numbers for each element type."""
        draw = subject.kernel.contents.get(array.name)
        if draw is not None:
            return host_array(array, self.campaign.seed, draw)
        if array.dtype not in self._blocks:
            self._blocks[array.dtype] = contents(array.dtype, self.campaign.seed)
        return self._blocks[array.dtype]


def _arguments(subject: Subject, parameters: Parameters) -> tuple[Mapping[str, Any], tuple[ArrayArgument, ...]]:
    """Scalar arguments by name, and arrays."""
    with stage("constraint"):
        scalars = scalar_arguments(subject.generated.kernel, parameters, subject.scalars)
        return scalars, subject.arrays(parameters)


NOTHING = Samples((), ())


def record(
    bench: AnyBench, subject: Subject, parameters: Parameters, samples: Samples = NOTHING, **others: Any
) -> Measurement:
    """Make the record of a configuration from its samples; `others` are further fields of the record."""
    kernel = subject.kernel
    return Measurement(
        **origin(bench, subject),
        group=kernel.group,
        tags=kernel.tags,
        isolates=kernel.isolated(subject.variant),
        parameters=dict(parameters),
        samples_s=samples.host_s,
        device_samples_s=samples.device_s,
        dropped=bench.campaign.dropped,
        seed=bench.campaign.seed,
        **{"counts_hash": "", "status": "ok", **others},
    )


def origin(bench: AnyBench, subject: Subject) -> dict[str, Any]:
    """Fields of any record of a variant: the variant, the device, its driver and other versions, and the time."""
    facts = bench.device.facts
    return {
        "kernel": subject.kernel.name,
        "variant": dict(subject.variant),
        "device": facts.name,
        "platform": facts.platform,
        "driver": facts.driver,
        "versions": bench.versions,
        "kernel_hash": subject.hash,
        "taken_at": now("seconds"),
    }


def outcome(row: Measurement) -> str:
    """Name the kernel class of a record, with the failure if there was one."""
    return row.kernel if row.status == "ok" else FailedStep(row.kernel, f"{row.status} ({row.message})")
