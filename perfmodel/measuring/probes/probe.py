"""Probes and their settings, and the device on which they run, with the clock of campaigns."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyopencl as cl

from perfmodel.facts.probed import Point, ProbeRun
from perfmodel.measuring.timing import Enqueue, sample
from perfmodel.opencl import Device, quiet_compiler

DTYPES = {"float32": "float", "float64": "double"}  # types of OpenCL C by the names of NumPy


class Instrument:
    """An opened device. Programs are kept until this value is gone."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self.context, self.queue = device.context()
        self._kernels: dict[tuple[str, tuple[str, ...]], Any] = {}

    def known(self, key: str, otherwise: int) -> int:
        """Return a whole number among the facts that the device reports, or `otherwise`."""
        return int(self.device.facts.known(key, otherwise))

    def most_bytes(self, wanted: int) -> int:
        """Return the size of a buffer [B]: `wanted`, or less if the device has less memory."""
        return min(wanted, self.known("global_memory_bytes", 2**28) // 4, self.known("max_alloc_bytes", 2**28))

    @property
    def dtypes(self) -> tuple[str, ...]:
        """The floating-point types that the device has."""
        return tuple(name for name in DTYPES if name == "float32" or self.known("has_float64", 0))

    def kernel(self, source: str, *options: str) -> Any:
        """Return the one kernel of a source. The kernel is built once with these options."""
        if (source, options) not in self._kernels:
            with quiet_compiler():
                program = cl.Program(self.context, source).build(options=list(options))
            self._kernels[source, options] = cl.Kernel(program, program.kernel_names)
        return self._kernels[source, options]

    @contextmanager
    def memory(self, *contents: Any) -> Iterator[tuple[Any, ...]]:
        """Yield a buffer for each array, with its contents, or for each number of bytes. Release all at the end."""
        buffers = []
        with ExitStack() as stack:
            for content in contents:
                octets = content if isinstance(content, int) else content.nbytes
                buffers.append(cl.Buffer(self.context, cl.mem_flags.READ_WRITE, octets))
                stack.callback(buffers[-1].release)
                if not isinstance(content, int):
                    cl.enqueue_copy(self.queue, buffers[-1], content)
            self.queue.finish()
            yield tuple(buffers)

    def write(self, buffer: Any, array: Any, at: int = 0) -> None:
        """Copy an array into a buffer, at an offset of `at` bytes."""
        cl.enqueue_copy(self.queue, buffer, array, dst_offset=at)
        self.queue.finish()

    def times(self, kernel: Any, groups: int, items: int, runs: int) -> tuple[float, ...]:
        """Return the times of runs of a kernel with its arguments set [s], in `groups` groups of `items` work-items."""
        samples = sample(self.queue, (Enqueue(kernel, (groups,), (items,)),), runs)
        return tuple(round(seconds, 9) for seconds in samples.host_s)

    def amount(self, kernel: Any, argument: int, items: int, aim_s: float, most: int = 2**24) -> int:
        """Return the amount of work that takes about the given time, and set it as an argument."""
        work, seconds = 8, 0.0
        while seconds < aim_s / 4 and work < most:
            work *= 8
            kernel.set_arg(argument, np.int32(work))
            seconds = min(self.times(kernel, 1, items, 2))
        work = max(1, min(most, int(work * aim_s / max(seconds, 1e-9))))
        kernel.set_arg(argument, np.int32(work))
        return work


@dataclass(frozen=True)
class ProbeSettings:
    """How thoroughly a device is probed.

    All other probes run between two of the `visits` to a probe. A visit makes a number of `runs` of each configuration
    and ignores the first `dropped` runs. A run aims at `run_s` [s]. No configuration begins after `most_s` [s], and no
    footprint is larger than `most_bytes`.
    """

    name: str
    visits: int = 3
    runs: int = 7
    dropped: int = 2
    run_s: float = 1e-3
    most_s: float = 8.0
    most_bytes: int = 2**28


THOROUGH = ProbeSettings("default")  # about 35 seconds on two cores
BRIEF = ProbeSettings("quick", visits=1, runs=5, run_s=5e-4, most_s=3.0, most_bytes=2**26)
"""About 9 seconds on two cores: one visit, and footprints up to 64 MiB."""

Earlier: TypeAlias = tuple[ProbeRun, ...]


@dataclass(frozen=True)
class Probe:
    """A probe. The function `points` times its configurations in order, and gets the earlier visits of this series."""

    name: str
    points: Callable[[Instrument, ProbeSettings, Earlier], Iterator[Point]]
    more: int = 0

    def visits(self, settings: ProbeSettings) -> int:
        """Return how many visits a series has."""
        return settings.visits + (self.more if settings.visits > 1 else 0)

    def timed(self, instrument: Instrument, settings: ProbeSettings, earlier: Earlier) -> tuple[tuple[Point, ...], str]:
        """Time the configurations. Return the times, and the problem, if any."""
        points: list[Point] = []
        try:
            points.extend(self.points(instrument, settings, earlier))
        except (cl.Error, MemoryError, ArithmeticError) as error:
            return tuple(points), " ".join(f"{type(error).__name__}: {error}".split())
        return tuple(points), ""
