"""A compiled Loopy unit of a running program: its calls, copies of arrays for statistics, and runs of it alone."""

import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import zip_longest
from pathlib import Path
from time import perf_counter
from types import FrameType
from typing import Any

import loopy as lp
import numpy as np
import pyopencl as cl
from pyopencl import _cl
from pyopencl.tools import ImmediateAllocator

from perfmodel.counts.cache import key_of
from perfmodel.counts.counting import Prepared
from perfmodel.counts.reading.domains import size_parameters
from perfmodel.counts.reading.observed import CallData, data_needed
from perfmodel.counts.reading.schedule import read_at_sizes
from perfmodel.counts.reading.values import Options

Sizes = tuple[Any, ...]
MIB = 2**20

OWN = ("wait_for", "allocator")  #: Arguments of host functions that are not the kernel's
RUNS, LONGEST_S = 12, 0.5  #: Most runs of a unit, and the time after which none begins [s]; at least two are made
LIBRARIES = frozenset({"perfmodel", "loopy", "pyopencl", "arraycontext", "pytato", "pytools", "functools"})
"""Packages whose lines do not say where a program calls a kernel."""


def caller() -> str:
    """Return the innermost line of the running program outside of :data:`LIBRARIES`; empty if there is none."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if str(frame.f_globals.get("__name__", "")).partition(".")[0] not in LIBRARIES:
            path = Path(frame.f_code.co_filename)
            return f"{path.parent.name}/{path.name}:{frame.f_lineno} ({frame.f_code.co_name})"
        frame = frame.f_back
    return ""


@dataclass
class Limits:
    """Bytes that a recording may copy from the device: of one array, and what is left for all others."""

    array: int = 64 * MIB
    left: int = 256 * MIB


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
    ) -> "FirstCall | None":
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
        queue = cl.CommandQueue(self.context, self.device, cl.command_queue_properties.PROFILING_ENABLE)
        own = {"wait_for": None, "allocator": ImmediateAllocator(queue)}
        arguments = {}
        with ExitStack() as stack:
            for argument, (name, dtype) in zip_longest(self.arguments, self.kinds):  # the last ones were given by name
                arguments[name] = own.get(name, argument)
                if isinstance(argument, tuple):
                    arguments[name] = buffer = cl.Buffer(self.context, cl.mem_flags.READ_WRITE, argument[0])
                    stack.callback(buffer.release)
                    _fill(queue, buffer, argument[0], dtype, data.arrays.get(name) if data else None)
            queue.finish()
            return self._times(queue, arguments)

    def _times(self, queue: Any, arguments: dict[str, Any]) -> list[int]:
        times: list[int] = []
        began = perf_counter()
        while len(times) < 2 or (len(times) < RUNS and perf_counter() - began < LONGEST_S):
            with _launched() as events:
                self.host(self.kernels, queue, **arguments)
                queue.finish()
            times.append(sum(event.profile.end - event.profile.start for event in events))
        return times[1:] if len(times) > 2 else times


@dataclass(eq=False)
class Unit:
    """One compiled unit. Positions are those among the arguments of its host function."""

    number: int  # its position among the units of the recording
    executor: Any  # Loopy's
    dtypes: Any  # of the arguments for which the executor compiled the unit
    parameters: tuple[str, ...] = ()  # names of the sizes
    places: tuple[int, ...] = ()  # positions of the sizes
    scalars: tuple[tuple[str, int], ...] = ()  # all scalar arguments, with the offsets of arrays: names and positions
    arrays: tuple[tuple[str, int, Any], ...] = ()  # from which statistics may follow: names, positions and types
    kinds: tuple[tuple[str, Any], ...] = ()  # names and types of all arguments
    calls: dict[Sizes, int] = field(default_factory=dict)  # number by sizes; () is for sizes beyond the limit
    data: dict[Sizes, CallData] = field(default_factory=dict)  # of the first call with some sizes
    first: dict[Sizes, FirstCall] = field(default_factory=dict)  # call with some sizes, for runs of the unit alone
    made: int = 1  # how often the program compiled an equal unit
    source: str = ""  # the line that called it first (:func:`caller`), as ``grudge/op.py:345 (local_grad)``
    notes: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, number: int, executor: Any, dtypes: Any, host: Any) -> "Unit":
        """Return the unit that an executor compiled, whose launches `host` enqueues."""
        unit = cls(number, executor, dtypes, source=caller())
        kernel = unit.scheduled.default_entrypoint
        places = {name: place for place, name in enumerate(list(inspect.signature(host).parameters)[2:])}
        sizes, needed = size_parameters(kernel), data_needed(kernel)
        unit.parameters = tuple(name for name in sizes if name in places)
        unit.places = tuple(places[name] for name in unit.parameters)
        types = {argument.name: getattr(argument.dtype, "numpy_dtype", None) for argument in kernel.args}
        unit.kinds = tuple((name, types.get(name)) for name in places)
        for argument in kernel.args if needed else ():
            place = places.get(argument.name)
            if place is not None and isinstance(argument, lp.ValueArg):
                unit.scalars += ((argument.name, place),)
            elif place is not None and argument.name in needed:
                unit.arrays += ((argument.name, place, argument.dtype.numpy_dtype),)
        return unit

    @property
    def scheduled(self) -> Any:
        """The scheduled unit, which Loopy keeps."""
        return self.executor.get_typed_and_scheduled_translation_unit(self.dtypes)

    @property
    def name(self) -> str:
        """The name that the program gave its kernel."""
        return str(self.executor.entrypoint)

    @property
    def by_data(self) -> bool:
        """Whether counts may depend on the data of a call."""
        return bool(self.scalars or self.arrays)

    @cached_property
    def key(self) -> str:
        """A hash of the kernel, equal in all processes."""
        return key_of(self.scheduled) or f"{self.name} {self.number}"

    def copy_arrays(self, sizes: Sizes, queue: Any, given: tuple[Any, ...], limits: Limits) -> None:
        """Copy the arrays of statistics from the device, those that fit the limits."""
        kept: dict[str, Any] = {}
        self.data[sizes] = CallData({name: given[place] for name, place in self.scalars}, kept)
        for name, place, dtype in self.arrays:
            if given[place] is None:  # an array without elements
                kept[name] = np.empty(0, dtype)
                continue
            octets = getattr(given[place], "size", None)
            if octets is None:
                continue
            if octets > min(limits.array, limits.left):
                self.notes.append(f"'{name}' was not copied for statistics: it has {octets / MIB:.0f} MiB")
                continue
            copy = np.empty(octets // dtype.itemsize, dtype)
            cl.enqueue_copy(queue, copy, given[place], is_blocking=True)
            kept[name] = copy
            limits.left -= octets

    def prepared(self, sizes: Sizes) -> Prepared:
        """Return what counts need, with the statistics at some sizes."""
        named = dict(zip(self.parameters, sizes, strict=False))
        read = partial(Prepared.of, statistics={}, declared={}, options=Options(), data=self.data.get(sizes))
        return read_at_sizes(lambda unit: read(lambda: unit), self.scheduled, named, self.notes.append)


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
