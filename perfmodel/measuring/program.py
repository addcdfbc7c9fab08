"""A kernel built for a device: generated once, launched with arguments set beforehand."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from perfmodel.opencl import quiet_compiler

if TYPE_CHECKING:
    from loopy import TranslationUnit


@dataclass(frozen=True)
class Launch:
    """One enqueue of a device kernel whose arguments are set."""

    kernel: Any
    groups: tuple[int, ...]
    work_group: tuple[int, ...]

    def enqueue(self, queue: Any) -> Any:
        """Enqueue it and return its event."""
        import pyopencl as cl

        return cl.enqueue_nd_range_kernel(queue, self.kernel, self.groups, self.work_group, g_times_l=True)


@dataclass(frozen=True, eq=False)
class Program:
    """The code that Loopy generates for a translation unit.

    Parameters
    ----------
    t_unit : loopy.TranslationUnit
        With the types of all arguments fixed.
    """

    t_unit: TranslationUnit

    @cached_property
    def _generated(self) -> Any:
        import loopy as lp

        return lp.generate_code_v2(self.t_unit)

    @cached_property
    def code(self) -> str:
        """The OpenCL code."""
        return str(self._generated.device_code())

    @cached_property
    def hash(self) -> str:
        """SHA-256 of the code [hexadecimal]."""
        return hashlib.sha256(self.code.encode()).hexdigest()

    @property
    def kernel(self) -> Any:
        """The one kernel that a host calls."""
        return self.t_unit.default_entrypoint

    def build(self, context: Any) -> BuiltProgram:
        """Compile the code for the device of `context`."""
        import pyopencl as cl

        options = list(self.kernel.options.build_options)
        with quiet_compiler():
            built = cl.Program(context, self.code).build(options=options)
        names = built.kernel_names.split(";")
        kernels = {name: cl.Kernel(built, name) for name in names}
        return BuiltProgram(self, context, kernels)


@dataclass(frozen=True, eq=False)
class BuiltProgram:
    """A program compiled for one device."""

    program: Program
    context: Any
    kernels: Mapping[str, Any]

    def launches(self, queue: Any, arguments: Mapping[str, Any]) -> tuple[Launch, ...]:
        """Set the arguments (buffers and scalars by name) and say what a call enqueues.

        Loopy's own host function does both: it runs here against a stand-in that notes
        what would be enqueued, so argument order and grid are Loopy's own.
        """
        import numpy as np
        import pyopencl as cl
        import pyopencl.array
        import pyopencl.tools

        recorder = _Recorder()
        names = {"_lpy_cl": recorder, "_lpy_np": np, "_lpy_cl_array": cl.array,
                 "_lpy_cl_tools": cl.tools}  # fmt: skip
        generated = self.program._generated
        exec(compile(generated.host_code(), "<loopy host code>", "exec"), names)
        host: Any = names[generated.host_programs[self.program.kernel.name].name]
        host(
            _Kernels(self.kernels),
            queue,
            **arguments,
            allocator=cl.tools.DeferredAllocator(self.context),
        )
        return tuple(recorder.launches)


class _Kernels:
    """Kernels as attributes, which is how Loopy's host function looks them up."""

    def __init__(self, kernels: Mapping[str, Any]) -> None:
        self.__dict__.update(kernels)


@dataclass
class _Recorder:
    """Stands in for pyopencl and notes the enqueues."""

    launches: list[Launch] = field(default_factory=list)

    def enqueue_nd_range_kernel(self, queue: Any, kernel: Any, groups: Any, work_group: Any, *options: Any) -> None:
        self.launches.append(Launch(kernel, tuple(groups), tuple(work_group)))

    def __getattr__(self, name: str) -> Any:
        import pyopencl as cl

        return getattr(cl, name)
