"""Records what a process executes on OpenCL devices: each command with its kernel, sizes and time.

It replaces some functions of PyOpenCL and Loopy, and puts them back at the end:

- ``pyopencl.CommandQueue`` gets a subclass that asks for profiling, so that events have times of the device;
- ``pyopencl.enqueue_nd_range_kernel`` and the functions that copy and fill give their events;
- Loopy's executors give each compiled unit. All calls of a unit pass its host function, with all sizes.
"""

from __future__ import annotations

import os
import sys
import threading
from array import array as numbers
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter_ns
from types import new_class
from typing import Any

import pyopencl as cl
from pyopencl import _cl  # the compiled module: programs and PyOpenCL itself call its functions

from perfmodel.watching.units import FirstCall, Limits, Sizes, Unit
from perfmodel.watching.writing import BUILD, OWN, WAIT, Writer

MOST_PENDING = 1024  #: Most events that wait to be read
MOST_SIZES = 1000  #: Most sizes of a unit that are recorded separately
MOST_TIMES = 128  #: Most single times of a row; then every second is dropped, and later ones are kept half as often
MOST_SPANS = 2**20  #: Most intervals of the timeline
FIRST_NS, FLUSH_NS = 50_000_000, 1_000_000_000  #: First and longest time between two writes of rows [ns]; it doubles
REPLAY_NS = 60_000_000_000  #: Time after which no further unit is run alone [ns]
COMPARED = 1000  #: Commands from which the difference of the clocks of host and device follows
START, END, QUEUED = cl.profiling_info.START, cl.profiling_info.END, cl.profiling_info.QUEUED
NO_TRANSFERS = ("_enqueue_barrier", "_enqueue_marker", "_enqueue_wait")
"""Beginnings of the names of commands that neither copy nor fill."""


@dataclass
class Times:
    """The device's times of a unit's calls at some sizes, or of another command [ns]."""

    number: int  # of the row
    calls: int = 0
    total: int = 0
    first: int = 0
    least: int = 0
    kept: numbers[int] = field(default_factory=lambda: numbers("q"))
    every: int = 1
    launches: dict[tuple[int, str], list[int]] = field(default_factory=dict)  # calls and total of device kernels
    alone: list[int] = field(default_factory=list)  # of runs without the program
    new: list[int] = field(default_factory=list)  # times of calls that are not yet part of the rest

    def add_new(self) -> None:
        """Add the new times."""
        new, self.new = self.new, []
        if self.calls == 0:
            self.first = self.least = new[0]
        self.kept.extend(new[-self.calls % self.every :: self.every])
        while len(self.kept) > MOST_TIMES:
            self.kept, self.every = self.kept[::2], 2 * self.every
        self.calls += len(new)
        self.total += sum(new)
        self.least = min(self.least, *new)


class Call:
    """One call of a unit: its launches, and the sum of their times."""

    __slots__ = ("launched", "row", "sizes", "time", "unit")

    def __init__(self, unit: Unit, sizes: Sizes) -> None:
        self.unit, self.sizes = unit, sizes
        self.launched = self.time = 0
        self.row: Times | None = None


class Here(threading.local):
    """The call in which a thread is, and whether its commands are the recorder's own."""

    call: Call | None = None
    hidden: bool = False


class Recorder:
    """Records into a folder, from :meth:`start` to :meth:`finish`."""

    def __init__(self, folder: Path, replays: bool = False) -> None:
        self.replays = replays
        self.limits = Limits()
        self.writer = Writer(folder)
        self.units: list[Unit] = []
        self.rows: dict[tuple[Any, ...], Times] = {}
        self.pending: list[tuple[Any, ...]] = []
        self.most = MOST_PENDING  # commands that wait to be read
        self.spans = numbers("q")  # of the timeline: start, end, and the row or kind
        self.names: dict[int, tuple[Any, str]] = {}  # of kernels by their address
        self.queues: dict[int, tuple[Any, int, bool]] = {}  # device and profiling by address
        self.devices: dict[int, Any] = {}
        self.unprofiled = 0
        self.offset = self.compared = 0  # difference of the clocks of host and device, and commands that gave it
        self.here = Here()
        self.lock = threading.Lock()
        self.unsaved = self.unwritten = False  # whether something was read after the last `save`, and the last write
        self.process = os.getpid()
        self.ending = threading.Event()
        self._undo = ExitStack()  # puts the functions back
        self._infos: dict[int, Any] = {}
        self._closed = False  # no command is recorded any more
        self.ended = self.last = 0  # the last command of a device
        self.between = FIRST_NS  # two writes
        self.started = self.flushed = perf_counter_ns()

    # {{{ functions of PyOpenCL

    def start(self) -> None:
        """Replace the functions of PyOpenCL; queues that the program makes from now on ask for profiling."""
        self._put(cl.CommandQueue, "finish", self._timed(cl.CommandQueue.finish, WAIT))
        self._put(cl, "CommandQueue", _with_profiling(cl.CommandQueue))
        self._put_both("enqueue_nd_range_kernel", self._launching(_cl.enqueue_nd_range_kernel))
        for name in dir(_cl):
            if name.startswith("_enqueue_") and not name.startswith(NO_TRANSFERS):
                self._put_both(name, self._transferring(name.removeprefix("_enqueue_"), getattr(_cl, name)))
        for owner, name in ((cl.Event, "wait"), (_cl, "wait_for_events")):
            self._put(owner, name, self._timed(getattr(owner, name), WAIT))
        self._put(cl.Program, "build", self._timed(cl.Program.build, BUILD))
        self._put(os, "_exit", self._leaving(os._exit, self.finish))
        for name in ("execv", "execve"):  # other functions of `os` call these; they may fail, and the program go on
            self._put(os, name, self._leaving(getattr(os, name), self.save))

    def _put(self, owner: Any, name: str, new: Any) -> None:
        self._undo.callback(setattr, owner, name, getattr(owner, name))
        setattr(owner, name, new)

    def _put_both(self, name: str, new: Any) -> None:
        for module in (_cl, cl):
            if hasattr(module, name):
                self._put(module, name, new)

    def _launching(self, launch: Callable[..., Any]) -> Callable[..., Any]:
        here, add = self.here, self._add

        def enqueue_nd_range_kernel(queue: Any, kernel: Any, *given: Any, **named: Any) -> Any:
            before = perf_counter_ns()
            event = launch(queue, kernel, *given, **named)
            if not here.hidden:
                call, index = here.call, 0
                if call is not None:
                    index = call.launched
                    call.launched = index + 1
                add(call, index, kernel, queue, event, before)
            return event

        return enqueue_nd_range_kernel

    def _transferring(self, name: str, transfer: Callable[..., Any]) -> Callable[..., Any]:
        here = self.here

        def enqueue(queue: Any, *given: Any, **named: Any) -> Any:
            before = perf_counter_ns()
            event = transfer(queue, *given, **named)
            if named.get("is_blocking"):
                self._span(before, perf_counter_ns(), WAIT)
            if not here.hidden and isinstance(event, cl.Event):
                self._add(None, 0, name, queue, event, before)
            return event

        return enqueue

    def _add(self, call: Call | None, index: int, kernel: Any, queue: Any, event: Any, before: int) -> None:
        _, device, profiled = self.queues.get(queue.int_ptr) or self._meet(queue)
        after = 0
        if not profiled:
            event.wait()
            after = perf_counter_ns()
        self.pending.append((call, index, kernel, device, event, before, after))
        if len(self.pending) >= self.most or before - self.flushed > self.between:
            self.flush()

    def _meet(self, queue: Any) -> tuple[Any, int, bool]:
        """Note the device of a queue, and whether the queue has profiling; with the first one, begin to write."""
        device = queue.device
        self.devices.setdefault(device.int_ptr, device)
        number = list(self.devices).index(device.int_ptr)
        if not self.queues:
            threading.Thread(target=self._write_often, name="perfmodel watch", daemon=True).start()
        profiled = bool(queue.properties & cl.command_queue_properties.PROFILING_ENABLE)
        self.queues[queue.int_ptr] = met = queue, number, profiled
        return met

    def _timed(self, function: Callable[..., Any], kind: int) -> Callable[..., Any]:
        def timed(*given: Any, **named: Any) -> Any:
            before = perf_counter_ns()
            try:
                return function(*given, **named)
            finally:
                self._span(before, perf_counter_ns(), kind)

        return timed

    def _span(self, start: int, end: int, kind: int) -> None:
        if len(self.spans) < 3 * MOST_SPANS:
            self.spans.extend((start, end, kind))

    @staticmethod
    def _leaving(leave: Callable[..., Any], before: Callable[[], None]) -> Callable[..., Any]:
        def write_and_leave(*given: Any) -> Any:
            before()
            return leave(*given)

        return write_and_leave

    # }}}

    # {{{ Loopy's units

    def attach_loopy(self) -> None:
        """Replace the function by which Loopy's executors compile a unit."""
        from loopy.target.pyopencl_execution import PyOpenCLExecutor

        compile_unit = PyOpenCLExecutor.translation_unit_info

        def translation_unit_info(executor: Any, arg_to_dtype: Any = None) -> Any:
            before = perf_counter_ns()
            info = compile_unit(executor, arg_to_dtype)
            if id(info) not in self._infos:
                self._infos[id(info)] = info  # a reference, so that no other object gets its number
                if not self._closed:
                    self._instrument(executor, arg_to_dtype, info, before)
            return info

        self._put(PyOpenCLExecutor, "translation_unit_info", translation_unit_info)

    def _instrument(self, executor: Any, dtypes: Any, info: Any, before: int) -> None:
        """Wrap the host function of a compiled unit, unless an equal unit has the same function."""
        now = perf_counter_ns()
        self._span(before, now, BUILD)
        scope = info.invoker.module.mod_globals if hasattr(info.invoker, "module") else info.invoker.__globals__
        (name,) = [name for name in scope if name.startswith("_lpy_host_")]
        host = scope[name]
        if hasattr(host, "unit"):
            host.unit.made += 1
            return
        unit = Unit.of(len(self.units), executor, dtypes, host)
        self.units.append(unit)
        scope[name] = self._watched(unit, host)
        self._undo.callback(scope.__setitem__, name, host)
        self._span(now, perf_counter_ns(), OWN)

    def _watched(self, unit: Unit, host: Callable[..., Any]) -> Callable[..., Any]:
        here, places, calls, pending = self.here, unit.places, unit.calls, self.pending

        def watched(kernels: Any, queue: Any, *given: Any, **named: Any) -> Any:
            sizes = tuple([given[place] for place in places])
            if sizes not in calls:
                if len(calls) >= MOST_SIZES:
                    sizes = ()
                else:
                    self._note(unit, sizes, host, kernels, queue, given)
                calls.setdefault(sizes, 0)
            calls[sizes] += 1
            outer, call = here.call, Call(unit, sizes)
            here.call = call
            try:
                return host(kernels, queue, *given, **named)
            finally:
                here.call = outer
                pending.append((call, 0, None, 0, None, 0, 0))  # after all of its launches

        watched.unit = unit  # type: ignore[attr-defined]
        return watched

    def _note(
        self, unit: Unit, sizes: Sizes, host: Callable[..., Any], kernels: Any, queue: Any, given: tuple[Any, ...]
    ) -> None:
        """Copy the arrays from which statistics follow, and note the arguments, before the first call with sizes."""
        before, self.here.hidden = perf_counter_ns(), True
        try:
            if self.replays and (first := FirstCall.of(host, kernels, queue, given, unit.kinds)):
                unit.first[sizes] = first
            if unit.by_data:
                unit.copy_arrays(sizes, queue, given, self.limits)
        finally:
            self.here.hidden = False
            self._span(before, perf_counter_ns(), OWN)

    # }}}

    # {{{ events

    def flush(self, wait: bool = False, programs: bool = True) -> None:
        """Read the events that are complete, and write the rows if they were not written for a while."""
        with self._alone(wait) as alone:
            if alone:
                self._read_events(wait)
                if wait or perf_counter_ns() - self.flushed > self.between:
                    self.unwritten = False
                    self.writer.write(self, programs=programs)
                    self.flushed = perf_counter_ns()
                    self.between = min(2 * self.between, FLUSH_NS)

    def _write_often(self) -> None:
        """Write the rows from a thread while the program enqueues nothing, so that little is lost if it is killed.

        While it enqueues commands, its own thread writes: two busy threads would wait for each other.
        """
        while not self.ending.wait(0.5e-9 * self.between):
            if (self.pending or self.unwritten) and perf_counter_ns() - self.flushed > 1.5 * self.between:
                self.flush(programs=False)

    def save(self) -> None:
        """Write everything now, as if the recording ended."""
        if os.getpid() != self.process or not (self.pending or self.unsaved):
            return
        with self._alone(wait=True):
            try:
                self._read_events(wait=True)
                self.writer.finish(self)
                self.unsaved = False
            except Exception as error:  # the program goes on
                _say_failure(error)

    @contextmanager
    def _alone(self, wait: bool) -> Iterator[bool]:
        """Keep other threads from reading events and writing; the value is False if one of them does it already."""
        if not self.lock.acquire(blocking=wait):
            yield False
            return
        before = perf_counter_ns()
        try:
            yield True
        finally:
            self._span(before, perf_counter_ns(), OWN)
            self.lock.release()

    def _read_events(self, wait: bool) -> None:
        """Add the times of the complete commands to their rows. It takes as few steps for each as it can."""
        complete = cl.command_execution_status.COMPLETE
        commands, done = list(self.pending), 0
        changed: list[Times] = []
        try:
            for call, index, kernel, device, event, before, after in commands:
                if event is None:  # the end of a call
                    row, time = call.row, call.time
                else:
                    if wait:
                        event.wait()
                    elif event.command_execution_status != complete:
                        break
                    row, time = self._read(call, index, kernel, device, event, before, after)
                if row is not None and (call is None or event is None):
                    if not row.new:
                        changed.append(row)
                    row.new.append(time)
                done += 1
        finally:  # none is read twice
            if done:
                self.unsaved = self.unwritten = True  # before the commands are deleted, as `save` reads both
            del self.pending[:done]
            self.most = len(self.pending) + MOST_PENDING
            for row in changed:
                row.add_new()

    def _read(
        self, call: Call | None, index: int, kernel: Any, device: int, event: Any, before: int, after: int
    ) -> tuple[Times, int]:
        """Return the row of a complete command and its time; `after` is 0 if its event has the times."""
        if after:
            self.unprofiled += 1
            start, end = before, after
        else:
            if self.compared < COMPARED:  # each command gives a difference that is a little too small
                late = before - event.get_profiling_info(QUEUED)
                self.offset = late if self.compared == 0 else max(self.offset, late)
                self.compared += 1
            start = event.get_profiling_info(START) + self.offset
            end = event.get_profiling_info(END) + self.offset
        name, time = kernel if isinstance(kernel, str) else self._name(kernel), end - start
        if call is None:
            row = self._row(None, name is kernel, name, device)
        else:
            if call.row is None:
                call.row = self._row(call.unit.number, call.sizes, "", device)
            row = call.row
            call.time += time
            launch = row.launches.setdefault((index, name), [0, 0])
            launch[0] += 1
            launch[1] += time
        self._span(start, end, row.number)
        if end > self.last:
            self.last = end
        return row, time

    def _row(self, *key: Any) -> Times:
        row = self.rows.get(key)
        if row is None:
            row = self.rows[key] = Times(len(self.rows))
        return row

    def _name(self, kernel: Any) -> str:
        known = self.names.get(kernel.int_ptr)
        if known is None:
            known = self.names[kernel.int_ptr] = kernel, kernel.function_name
        return known[1]

    # }}}

    def finish(self) -> None:
        """Put the functions back, read all events and write everything; in a forked process write nothing."""
        if self._closed:
            return
        self._closed = True
        self._undo.close()
        if os.getpid() != self.process:  # forked: the parent records its own commands
            self.pending.clear()
            return
        self.ended = perf_counter_ns()
        self.ending.set()
        try:
            self.flush(wait=True)
            self.ended = max(self.ended, self.last)
            if self.replays:
                self._replay()
            self.writer.finish(self)
        except Exception as error:  # the program's own end must not change
            _say_failure(error)

    def _replay(self) -> None:
        """Run each unit alone, the one with the longest total time first."""
        began = perf_counter_ns()
        for (number, sizes, *_), row in sorted(self.rows.items(), key=lambda item: -item[1].total):
            unit = None if number is None else self.units[number]
            if unit is not None and sizes in unit.first and perf_counter_ns() - began < REPLAY_NS:
                try:
                    row.alone = unit.first[sizes].run(unit.data.get(sizes))
                except Exception as error:  # the recording is complete without it
                    unit.notes.append(f"it was not run alone: {type(error).__name__}: {error}")


def _say_failure(error: Exception) -> None:
    sys.stderr.write(f"perfmodel watch: the end of the recording failed: {type(error).__name__}: {error}\n")


def _with_profiling(base: Any) -> Any:
    """Return what stands for the class of queues: it makes queues that ask for profiling; they cannot get it later.

    All queues are its instances, also those that were made before.
    """
    flag = cl.command_queue_properties.PROFILING_ENABLE

    class CommandQueue(base):  # type: ignore[misc]
        def __init__(self, context: Any, device: Any = None, properties: Any = None) -> None:
            if isinstance(properties, (list, tuple)):
                properties = _with_flag(list(properties), int(flag))
            else:
                properties = (properties or 0) | flag
            base.__init__(self, context, device, properties)

    class Kind(type):
        def __new__(cls, name: str, bases: tuple[type, ...], scope: dict[str, Any]) -> Any:
            if not bases:
                return super().__new__(cls, name, bases, scope)
            own = tuple(CommandQueue if isinstance(each, Kind) else each for each in bases)
            return new_class(name, own, {}, lambda body: body.update(scope))  # a class of the program

        def __call__(cls, *given: Any, **named: Any) -> Any:
            return CommandQueue(*given, **named)

        def __instancecheck__(cls, instance: Any) -> bool:
            return isinstance(instance, base)

        def __subclasscheck__(cls, subclass: type) -> bool:
            return issubclass(subclass, base)

        def __getattr__(cls, name: str) -> Any:
            return getattr(base, name)

    for each in (CommandQueue, stands := Kind("CommandQueue", (), {"__doc__": base.__doc__})):
        each.__module__, each.__qualname__ = base.__module__, base.__qualname__
    return stands


def _with_flag(properties: list[Any], flag: int) -> list[Any]:
    """Return a list of queue properties (key, value, ..., 0) with a flag added."""
    key = int(cl.queue_properties.PROPERTIES)
    pairs = dict(zip(properties[:-1:2], properties[1::2], strict=False))
    pairs[key] = int(pairs.get(key, 0)) | flag
    return [*(part for pair in pairs.items() for part in pair), 0]
