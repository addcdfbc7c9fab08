"""Runs the units of a recorded program again, each alone, on memory of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pyopencl as cl
from pyopencl import _cl
from pyopencl.tools import ImmediateAllocator

if TYPE_CHECKING:
    from perfmodel.counts.reading.observed import CallData

OWN = ("wait_for", "allocator")
"""Arguments of host functions that are not the kernel's."""
RUNS, LONGEST_S = 12, 0.5
"""Most runs of a unit, and the time after which no further run begins [s]; two runs are always made."""


@dataclass(frozen=True)
class FirstCall:
    """What is needed to call a unit's host function again.

    ``arguments`` has the size of each buffer [B] in a tuple of one number, and other arguments as they are. The names
    and types of arguments are in ``kinds``, by position.
    """

    host: Callable[..., Any]
    kernels: Any
    context: Any
    device: Any
    arguments: tuple[Any, ...]
    kinds: tuple[tuple[str, Any], ...]

    @classmethod
    def of(
        cls, host: Callable[..., Any], kernels: Any, queue: Any, given: tuple[Any, ...], kinds: Any
    ) -> FirstCall | None:
        """Return the call with these arguments; None if one is neither memory nor a number."""
        arguments: list[Any] = []
        for argument, (name, _) in zip(given, kinds, strict=False):
            if name in OWN:
                arguments.append(None)
            elif isinstance(argument, cl.MemoryObjectHolder):
                arguments.append((argument.size,))
            elif argument is None or isinstance(argument, (int, float, complex, np.generic)):
                arguments.append(argument)
            else:
                return None
        return cls(host, kernels, queue.context, queue.device, tuple(arguments), tuple(kinds))

    def run(self, data: CallData | None) -> list[int]:
        """Return the device's times of several calls [ns]; arrays of `data` are filled with it, others with ones."""
        profiling = cl.command_queue_properties.PROFILING_ENABLE
        queue = cl.CommandQueue(self.context, self.device, profiling)
        with ExitStack() as stack:
            arguments = []
            for argument, (name, dtype) in zip(self.arguments, self.kinds, strict=False):
                if isinstance(argument, tuple):
                    buffer = cl.Buffer(self.context, cl.mem_flags.READ_WRITE, argument[0])
                    stack.callback(buffer.release)
                    _fill(queue, buffer, argument[0], dtype, data.arrays.get(name) if data else None)
                    arguments.append(buffer)
                else:
                    arguments.append(argument)
            names = [name for name, _ in self.kinds]
            own = {"wait_for": None, "allocator": ImmediateAllocator(queue)}
            given = {name: argument for name, argument in zip(names, arguments, strict=False) if name not in OWN}
            queue.finish()
            return self._times(queue, given | {name: own[name] for name in names if name in own})

    def _times(self, queue: Any, arguments: dict[str, Any]) -> list[int]:
        times: list[int] = []
        began = perf_counter()
        while len(times) < 2 or (len(times) < RUNS and perf_counter() - began < LONGEST_S):
            with _launched() as events:
                self.host(self.kernels, queue, **arguments)
                queue.finish()
            times.append(sum(event.profile.end - event.profile.start for event in events))
        return times[1:] if len(times) > 2 else times


def _fill(queue: Any, buffer: Any, octets: int, dtype: Any, content: Any) -> None:
    if content is not None:
        cl.enqueue_copy(queue, buffer, content)
        return
    one = np.ones((), dtype) if dtype is not None and dtype.kind in "fciu" else np.zeros((), np.uint8)
    whole = octets - octets % one.itemsize
    if whole:
        cl.enqueue_fill_buffer(queue, buffer, one, 0, whole)


@contextmanager
def _launched() -> Iterator[list[Any]]:
    """Collect the events of launches."""
    events: list[Any] = []
    old = _cl.enqueue_nd_range_kernel

    def launch(*given: Any, **named: Any) -> Any:
        event = old(*given, **named)
        events.append(event)
        return event

    modules: list[Any] = [module for module in (_cl, cl) if hasattr(module, "enqueue_nd_range_kernel")]
    for module in modules:
        module.enqueue_nd_range_kernel = launch
    try:
        yield events
    finally:
        for module in modules:
            module.enqueue_nd_range_kernel = old
