"""The code that Loopy generates for a kernel: compiled for a device, and enqueued with its arguments set beforehand."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from perfmodel.opencl import quiet_compiler
from perfmodel.threads import redirected

if TYPE_CHECKING:
    from loopy import TranslationUnit


@dataclass(frozen=True)
class Enqueue:
    """One enqueue of a device kernel whose arguments are set."""

    kernel: Any
    groups: tuple[int, ...]
    work_group: tuple[int, ...]

    def __call__(self, queue: Any) -> Any:
        """Enqueue the kernel and return its event."""
        import pyopencl as cl

        return cl.enqueue_nd_range_kernel(queue, self.kernel, self.groups, self.work_group, g_times_l=True)


@dataclass(frozen=True, eq=False)
class GeneratedCode:
    """The code that Loopy generates for a translation unit.

    It travels to other processes as it is: what Loopy generates may depend on Python's hash of texts, which differs
    between processes.

    Parameters
    ----------
    t_unit : loopy.TranslationUnit
        With the types of all arguments fixed.
    """

    t_unit: TranslationUnit

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("t_unit", "text", "hash", "host_function")}

    @cached_property
    def _generated(self) -> Any:
        import loopy as lp

        with redirected(stdout=io.StringIO()):  # Loopy prints a kernel that it refuses
            return lp.generate_code_v2(self.t_unit)

    @cached_property
    def text(self) -> str:
        """The OpenCL code."""
        return str(self._generated.device_code())

    @cached_property
    def hash(self) -> str:
        """SHA-256 of the text [hexadecimal]."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def kernel(self) -> Any:
        """The one kernel that the host calls."""
        return self.t_unit.default_entrypoint

    def compile(self, context: Any) -> CompiledCode:
        """Compile the code for the device of `context`."""
        import pyopencl as cl

        options = list(self.kernel.options.build_options)
        with quiet_compiler():
            program = cl.Program(context, self.text).build(options=options)
        kernels = {name: cl.Kernel(program, name) for name in program.kernel_names.split(";")}
        return CompiledCode(self, context, kernels)

    @cached_property
    def host_function(self) -> tuple[str, str]:
        """Name of Loopy's host function, and its Python code."""
        return self._generated.host_programs[self.kernel.name].name, self._generated.host_code()


@dataclass(frozen=True, eq=False)
class CompiledCode:
    """Generated code, compiled for one device."""

    generated: GeneratedCode
    context: Any
    kernels: Mapping[str, Any]

    def enqueues(self, queue: Any, arguments: Mapping[str, Any]) -> tuple[Enqueue, ...]:
        """Set the arguments (buffers and scalars by name) and return what one call enqueues.

        Loopy's own host function does both.  It runs here with a :class:`_Recorder` in place of pyopencl, which
        notes each enqueue and enqueues nothing, so that the order of arguments and the grid are Loopy's own.
        """
        import numpy as np
        import pyopencl as cl
        import pyopencl.array
        import pyopencl.tools

        recorder = _Recorder()
        names = {"_lpy_cl": recorder, "_lpy_np": np, "_lpy_cl_array": cl.array, "_lpy_cl_tools": cl.tools}
        name, code = self.generated.host_function
        exec(compile(code, "<loopy host code>", "exec"), names)
        host: Any = names[name]
        allocator = cl.tools.DeferredAllocator(self.context)
        host(SimpleNamespace(**self.kernels), queue, **arguments, allocator=allocator)
        return tuple(recorder.enqueues)


@dataclass
class _Recorder:
    """Stands in for pyopencl and notes the enqueues."""

    enqueues: list[Enqueue] = field(default_factory=list)

    def enqueue_nd_range_kernel(self, queue: Any, kernel: Any, groups: Any, work_group: Any, *options: Any) -> None:
        self.enqueues.append(Enqueue(kernel, tuple(groups), tuple(work_group)))

    def __getattr__(self, name: str) -> Any:
        import pyopencl as cl

        return getattr(cl, name)
