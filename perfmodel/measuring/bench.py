"""A device made ready: kernels are built, checked and run on it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from perfmodel.errors import BrokenDeviceError
from perfmodel.kernels import KernelClass, Parameters, Variant
from perfmodel.measuring.arguments import (
    ArrayArgument,
    array_arguments,
    contents,
    device_buffer,
    fits,
    host_array,
    scalar_arguments,
)
from perfmodel.measuring.campaign import Campaign
from perfmodel.measuring.program import BuiltProgram, Launch, Program
from perfmodel.measuring.timing import sample
from perfmodel.opencl import quiet_compiler

if TYPE_CHECKING:
    from perfmodel.opencl import Device


class FailedError(Exception):
    """A configuration failed; never leaves the room, but ends as a record's status."""

    def __init__(self, status: str, message: str) -> None:
        self.status = status
        self.message = message
        super().__init__(message)


@contextmanager
def stage(status: str) -> Iterator[None]:
    """Any exception in here is a failure of this status."""
    try:
        yield
    except FailedError:
        raise
    except Exception as error:
        message = " ".join(f"{type(error).__name__}: {error}".split())
        raise FailedError(status, message[:500]) from error


@dataclass(frozen=True, eq=False)
class Subject:
    """A kernel class in one variant."""

    kernel: KernelClass
    variant: Variant

    @cached_property
    def program(self) -> Program:
        """Its code; building it may fail."""
        with stage("compile"):
            program = Program(self.kernel.build(**self.variant))
            program.hash  # noqa: B018 -- generates the code here, where a failure has its status
            return program

    @property
    def hash(self) -> str:
        """Hash of its code; empty if none can be generated."""
        try:
            return self.program.hash
        except FailedError:
            return ""

    @property
    def smallest(self) -> Parameters:
        """Its smallest size, at which its output is checked."""
        return self.kernel.sizes.at(self.kernel.sizes.start)[0]

    @property
    def scalars(self) -> Mapping[str, float]:
        """Its floating-point arguments."""
        return self.kernel.scalars(**self.variant)

    def arrays(self, parameters: Parameters) -> tuple[ArrayArgument, ...]:
        """Its arrays at these parameters."""
        return array_arguments(self.program.kernel, parameters)


@dataclass(frozen=True, eq=False)
class Bench:
    """A device with a context, a queue, and what was built on it.

    Parameters
    ----------
    device : Device
        The device.
    campaign : Campaign
        How much and how.
    """

    device: Device
    campaign: Campaign
    _built: dict[str, BuiltProgram] = field(default_factory=dict)
    _blocks: dict[np.dtype[Any], Any] = field(default_factory=dict)

    @cached_property
    def _opened(self) -> tuple[Any, Any]:
        return self.device.context()

    @property
    def queue(self) -> Any:
        """In order, with profiling."""
        return self._opened[1]

    def fact(self, key: str) -> int:
        """Look up a whole number that the device tells."""
        return int(self.device.facts.value(key))

    def built(self, subject: Subject) -> BuiltProgram:
        """Compile the subject's code for the device, once."""
        program = subject.program
        if program.hash not in self._built:
            with stage("compile"):
                self._built[program.hash] = program.build(self._opened[0])
        return self._built[program.hash]

    def fits(self, subject: Subject, parameters: Parameters) -> bool:
        """Whether the subject's arrays fit into the share of memory that it may fill."""
        most = self.campaign.memory_fraction * self.fact("global_memory_bytes")
        return fits(subject.arrays(parameters), most, self.fact("max_alloc_bytes"))

    @contextmanager
    def ready(self, subject: Subject, parameters: Parameters) -> Iterator[tuple[Launch, ...]]:
        """Give what a call enqueues, its arguments set, while the context lasts."""
        built = self.built(subject)
        with stage("constraint"):
            scalars = scalar_arguments(subject.program.kernel, parameters, subject.scalars)
            arrays = subject.arrays(parameters)
        with stage("runtime"):
            buffers: dict[str, Any] = {}
            try:
                for array in arrays:
                    block = self._filling(subject, array)
                    buffers[array.name] = device_buffer(self.queue, array, block)
                yield built.launches(self.queue, {**buffers, **scalars})
            finally:
                for buffer in buffers.values():
                    buffer.release()

    def trial(self, subject: Subject, parameters: Parameters) -> float:
        """Quickest of three runs, or of two long ones, after the first that may compile [s]."""
        with self.ready(subject, parameters) as launches:
            first = sample(self.queue, launches, 1).host_s
            return min(first + sample(self.queue, launches, 2, self.campaign.longest_s).host_s)

    def launch_overhead(self) -> float:
        """Time of a kernel that does nothing [s].

        The median, not the minimum: a yardstick for sizes should not hang on one lucky run.

        Raises
        ------
        BrokenDeviceError
            Not even that runs.
        """
        import pyopencl as cl

        try:
            with quiet_compiler():
                program = cl.Program(self._opened[0], "__kernel void nothing() {}").build()
            launch = Launch(cl.Kernel(program, "nothing"), (1,), (1,))
            return sample(self.queue, (launch,), self.campaign.runs).median(self.campaign.dropped)
        except cl.Error as error:
            raise BrokenDeviceError(self.device.name, " ".join(str(error).split())) from error

    def see_that_it_works(self) -> None:
        """Open the device anew if it runs nothing any more, as after a kernel's crash.

        Raises
        ------
        BrokenDeviceError
            Opened anew it runs nothing either.
        """
        try:
            self.launch_overhead()
        except BrokenDeviceError:
            self._built.clear()
            self.__dict__.pop("_opened", None)
            self.launch_overhead()

    def output(self, subject: Subject, parameters: Parameters) -> tuple[dict[str, Any], dict[str, Any]]:
        """Run once: arguments by name as passed, and all arrays as they are afterwards."""
        import pyopencl as cl

        built, queue = self.built(subject), self.queue
        with stage("constraint"):
            scalars = scalar_arguments(subject.program.kernel, parameters, subject.scalars)
            arrays = subject.arrays(parameters)
        with stage("runtime"):
            seeds = range(self.campaign.seed, self.campaign.seed + len(arrays))
            drawn = subject.kernel.contents
            memory = {a.name: host_array(a, seed, drawn.get(a.name)) for a, seed in zip(arrays, seeds, strict=True)}
            buffers = {a.name: device_buffer(queue, a, memory[a.name]) for a in arrays}
            for launch in built.launches(queue, {**buffers, **scalars}):
                launch.enqueue(queue)
            after = {}
            for array in arrays:
                flat = np.empty_like(memory[array.name])
                cl.enqueue_copy(queue, flat, buffers[array.name])
                after[array.name] = array.view(flat)
        passed = {array.name: array.view(memory[array.name]) for array in arrays}
        return {**passed, **scalars}, after

    def check(self, subject: Subject) -> None:
        """Compare the subject's output with its reference at its smallest size.

        Raises
        ------
        FailedError
            They differ by more than the class tolerates.
        """
        arguments, after = self.output(subject, subject.smallest)
        with stage("correctness"):
            expected = subject.kernel.reference(arguments, **subject.variant)
            for name, array in expected.items():
                np.testing.assert_allclose(after[name], array, rtol=subject.kernel.tolerance, err_msg=name)

    def _filling(self, subject: Subject, array: ArrayArgument) -> Any:
        """What to fill an array with: what its class draws, else a block for each type."""
        draw = subject.kernel.contents.get(array.name)
        if draw is not None:
            return host_array(array, self.campaign.seed, draw)
        if array.dtype not in self._blocks:
            self._blocks[array.dtype] = contents(array.dtype, self.campaign.seed)
        return self._blocks[array.dtype]
