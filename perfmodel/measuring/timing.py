"""Compiled code, its times by the clocks of host and device, and flags of suspicious visits."""

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timezone
from functools import cache
from statistics import median
from time import perf_counter
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyopencl as cl
from loopy.target.pyopencl_execution import PyOpenCLExecutionWrapperGenerator

from perfmodel.counts import KernelCounts
from perfmodel.counts.program.program import DECISIONS
from perfmodel.facts import DeviceFacts
from perfmodel.kernels import Parameters
from perfmodel.kernels.samples import KeptKernel
from perfmodel.libraries import installed
from perfmodel.measuring.campaign import Campaign
from perfmodel.measuring.lock import PINNED
from perfmodel.measuring.subject import ArrayArgument, FailedError, GeneratedCode
from perfmodel.store.lines import uncollected


@dataclass(frozen=True)
class Enqueue:
    """One enqueue of a device kernel whose arguments are set."""

    kernel: Any
    groups: tuple[int, ...]
    work_group: tuple[int, ...]

    def __call__(self, queue: Any) -> Any:
        """Enqueue the kernel and return its event."""
        return cl.enqueue_nd_range_kernel(queue, self.kernel, self.groups, self.work_group, g_times_l=True)


@dataclass(frozen=True, eq=False)
class CompiledCode:
    """Generated code, compiled for one device."""

    generated: GeneratedCode | KeptKernel
    context: Any
    program: Any

    @contextmanager
    def enqueues(self, queue: Any, arguments: Mapping[str, Any]) -> Iterator[tuple[Enqueue, ...]]:
        """Yield the launches of one call with these arguments (buffers and scalars by name), valid in the context.

        The host function of Loopy runs once, with a :class:`_Recorder` in place of pyopencl. Runs repeat only the
        launches.
        """
        preamble: list[str] = []
        PyOpenCLExecutionWrapperGenerator().target_specific_preamble(SimpleNamespace(add_to_preamble=preamble.append))
        name, code = self.generated.host_function
        names: dict[str, Any] = {}
        exec(compile("\n".join([*preamble, code]), "<loopy host code>", "exec"), names)
        with ExitStack() as stack:
            recorder = _Recorder(self.context, stack)
            # Loopy writes `pack` for some types of scalars, and does not define it
            names.update(_lpy_cl=recorder, pack=names["_lpy_pack"])
            names[name](_Kernels(self.program), queue, **arguments, allocator=recorder.allocated)
            if not recorder.enqueues:
                raise FailedError("constraint", "at these sizes it launches no work-group, so there is nothing to time")
            yield tuple(recorder.enqueues)


class _Kernels:
    """The kernels of a program by name. Each access returns a new object, since launches differ in their arguments."""

    def __init__(self, program: Any) -> None:
        self.__program = program

    def __getattr__(self, name: str) -> Any:
        return cl.Kernel(self.__program, name)


class _Temporary(cl.Buffer):  # type: ignore[misc]
    """Memory that stays allocated when the host function releases it. The recorded launches run later."""

    def release(self) -> None:
        """Keep the memory."""


@dataclass
class _Recorder:
    """Replaces pyopencl. A recorder notes launches, and keeps the memory that they use until the stack is unwound."""

    context: Any
    stack: ExitStack
    enqueues: list[Enqueue] = field(default_factory=list)

    def enqueue_nd_range_kernel(self, queue: Any, kernel: Any, groups: Any, work_group: Any, *options: Any) -> None:
        if 0 not in groups:
            self.enqueues.append(Enqueue(kernel, tuple(groups), tuple(work_group)))

    def allocated(self, octets: int) -> Any:
        return self.Buffer(self.context, cl.mem_flags.READ_WRITE, octets) if octets else None

    def Buffer(self, *arguments: Any, **options: Any) -> Any:  # noqa: N802 -- as pyopencl calls it
        buffer = _Temporary(*arguments, **options)
        self.stack.callback(cl.Buffer.release, buffer)
        return buffer

    def __getattr__(self, name: str) -> Any:
        if name.startswith("enqueue"):
            raise FailedError("runtime", f"its host code calls pyopencl.{name}, which cannot be timed")
        return getattr(cl, name)


@contextmanager
def device_buffers(queue: Any, arrays: Mapping[ArrayArgument, Any]) -> Iterator[dict[str, Any]]:
    """Yield memory on the device for the buffers of arrays, filled with their blocks. Short blocks are repeated."""
    with ExitStack() as stack:
        buffers = {}
        for array, block in arrays.items():
            for name, part in array.parts.items():
                octets = (part.stop - part.start) * array.dtype.itemsize
                buffers[name] = cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, max(octets, 1))
                stack.callback(buffers[name].release)
                source = block[part] if len(block) == array.elements else block
                for start in range(0, octets, max(source.nbytes, 1)):
                    rest = source[: (octets - start) // source.itemsize]
                    cl.enqueue_copy(queue, buffers[name], rest, dst_offset=start)
        queue.finish()
        yield buffers


@dataclass(frozen=True)
class Samples:
    """Times of the runs in order [s], by the host's clock from before the enqueue until the device is idle.

    `device_s` are times by the device's clock, from the first start to the last end. Samples are not `complete` if runs
    were left out because earlier runs took too long.
    """

    host_s: tuple[float, ...]
    device_s: tuple[float, ...]
    complete: bool = True

    def median(self, dropped: int) -> float:
        """Median of the host's times after the drop [s]."""
        return median(self.host_s[dropped:])

    def spread(self, dropped: int) -> float:
        """Median over minimum after the drop, less one [1]."""
        return self.median(dropped) / min(self.host_s[dropped:]) - 1


def now(to: str) -> str:
    """Write the time in UTC, ISO 8601, to ``seconds`` or ``milliseconds``."""
    return datetime.now(timezone.utc).isoformat(timespec=to)


def sample(
    queue: Any, enqueues: tuple[Enqueue, ...], runs: int, timeout_s: float = float("inf"),
    enough: tuple[float, int] = (float("inf"), 0),
) -> Samples:  # fmt: skip
    """Run the launches of one call of a kernel repeatedly, on an idle in-order queue with profiling, and note times.

    No run begins once the earlier runs took longer than `timeout_s` [s]. `enough` has a time [s] and a number of runs.
    If so many runs took this time, the visit ends.
    """
    host: list[float] = []
    device: list[float] = []
    with uncollected():
        queue.finish()
        for _ in range(runs):
            if sum(host) > enough[0] and len(host) >= enough[1]:
                break
            if sum(host) > timeout_s:
                return Samples(tuple(host), tuple(device), complete=False)
            before = perf_counter()
            events = [enqueue(queue) for enqueue in enqueues]
            queue.finish()
            host.append(perf_counter() - before)
            device.append(1e-9 * (events[-1].profile.end - events[0].profile.start))
    return Samples(tuple(host), tuple(device))


CLOCK_SHARE, CLOCK_S = 0.01, 2e-6  #: A device's time may exceed the host's by this share [1] and time [s]: two clocks
DEVICE_TIMES, OVERHEADS = 2.0, 10.0
"""The host's time may be at most this many times the device's time plus this many launch overheads."""
PEAKS = {"cpu": (16 * 2 * 2, 3 * 64), "gpu": (128 * 2 * 2, 256)}
"""Generous peaks of a compute unit for each cycle: operations (lanes times pipes times two for a fused multiply-add),
and bytes from the nearest cache."""
BOOST = 2.0  # devices may run faster than the clock rate that they report, by this factor at most
LIBRARIES = ("perfmodel", "loopy", "islpy", "pyopencl", "numpy")  # libraries whose versions a record holds


def flags(samples: Samples, campaign: Campaign, overhead_s: float, least_s: float) -> tuple[str, ...]:
    """Return the flags of one visit (docs/measuring.md). `least_s` is the time that the counted work needs [s]."""
    flagged = {
        "spread": samples.spread(campaign.dropped) > campaign.spread,
        "clock": clocks_disagree(samples, campaign.dropped, overhead_s),
        "bound": min(samples.host_s[campaign.dropped :]) < least_s,
    }
    return tuple(flag for flag, holds in flagged.items() if holds)


def clocks_disagree(samples: Samples, dropped: int, overhead_s: float) -> bool:
    """Whether a device time exceeds its host time, or the least host time exceeds 2 device times + 10 overheads."""
    host, device = samples.host_s[dropped:], samples.device_s[dropped:]
    if not device:
        return False
    longer = any(d > h * (1 + CLOCK_SHARE) + CLOCK_S for h, d in zip(host, device, strict=True))
    return longer or min(host) > DEVICE_TIMES * min(device) + OVERHEADS * overhead_s


def least_seconds(counts: KernelCounts, parameters: Parameters, facts: DeviceFacts) -> float:
    """Return the larger of operations / peak rate and global bytes / rate of the nearest cache [s], or 0 if unknown."""
    if not {"compute_units", "clock_mhz", "device_type"} <= set(facts):
        return 0.0
    peaks = PEAKS.get(facts.value("device_type"))
    cycles_s: float = BOOST * facts.value("compute_units") * facts.value("clock_mhz") * 1e6
    if peaks is None or not cycles_s:
        return 0.0
    operations = sum(
        int(row.count(**parameters)) for row in counts.operation_table if row.count.exact and row.kind not in DECISIONS
    )
    cells = {
        (row.array, row.direction): (row.footprint, np.dtype(row.dtype).itemsize)
        for row in counts.access_table
        if row.space == "global" and row.footprint is not None and row.footprint.exact
    }
    octets = sum(int(cell(**parameters)) * size for cell, size in cells.values())
    return max(operations / peaks[0], octets / peaks[1]) / cycles_s


@cache
def versions() -> dict[str, str]:
    """Versions of Python and of the libraries that times depend on, and whether threads are pinned."""
    known = {"python": sys.version.split()[0]} | {name: installed(name) or "not installed" for name in LIBRARIES}
    return {**known, **{name: os.environ[name] for name in PINNED if name in os.environ}}
