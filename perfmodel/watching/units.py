"""A compiled Loopy unit of a running program: its calls, and copies of arrays from which statistics follow."""

from __future__ import annotations

import inspect
import sys
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import FrameType
from typing import Any

import loopy as lp
import numpy as np

from perfmodel.counts.cache import key_of
from perfmodel.counts.counting import Prepared
from perfmodel.counts.reading.domains import size_parameters
from perfmodel.counts.reading.observed import CallData, data_needed
from perfmodel.counts.reading.values import Options
from perfmodel.watching.replay import FirstCall

Sizes = tuple[Any, ...]
MIB = 2**20


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


@dataclass(eq=False)
class Unit:
    """One compiled unit.

    Attributes
    ----------
    number : int
        Its position among the units of the recording.
    executor, dtypes
        Loopy's executor, and the types of the arguments for which it compiled the unit.
    parameters, places : tuple
        Names of the size parameters, and their positions among the arguments of the host function.
    scalars : tuple of (str, int)
        All scalar arguments of the host function, which include the offsets of arrays: names and positions.
    arrays : tuple of (str, int, numpy.dtype)
        The arrays from which statistics may follow: names, positions and types.
    kinds : tuple of (str, numpy.dtype)
        Names and types of all arguments of the host function.
    first : dict
        The first call with some sizes, for runs of the unit alone.
    calls : dict
        Number of calls by the values of the parameters; () is for sizes beyond the limit.
    made : int
        How often the program compiled an equal unit.
    source : str
        The line that called it first, outside of the libraries below, as ``grudge/op.py:345 (local_grad)``.
    """

    number: int
    executor: Any
    dtypes: Any
    parameters: tuple[str, ...] = ()
    places: tuple[int, ...] = ()
    scalars: tuple[tuple[str, int], ...] = ()
    arrays: tuple[tuple[str, int, Any], ...] = ()
    kinds: tuple[tuple[str, Any], ...] = ()
    calls: dict[Sizes, int] = field(default_factory=dict)
    data: dict[Sizes, CallData] = field(default_factory=dict)  # of the first call with some sizes
    first: dict[Sizes, FirstCall] = field(default_factory=dict)
    made: int = 1
    source: str = ""
    notes: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, number: int, executor: Any, dtypes: Any, host: Any) -> Unit:
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
        import pyopencl as cl

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
        return Prepared.of(lambda: self.scheduled, {}, {}, Options(), self.data.get(sizes))
