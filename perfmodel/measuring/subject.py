"""What a campaign builds, checks and times: a variant of a kernel class, its generated code, and its arguments.

Arrays have contents in [0.5, 2). Each stage that can fail has a name, which the record keeps.
"""

from __future__ import annotations

import hashlib
import io
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from perfmodel.errors import KernelArgumentError
from perfmodel.kernels import KernelClass, Parameters, Variant
from perfmodel.opencl import quiet_compiler
from perfmodel.threads import guest_streams, redirected

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
    """The code that Loopy generates for a translation unit with the types of all arguments fixed.

    It travels to other processes as it is: what Loopy generates may depend on Python's hash of texts, which differs
    between processes.
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


#: So many elements are drawn, and repeated in larger arrays.
BLOCK = 2**20
#: Loopy's index type is a 32-bit integer.
MOST_ELEMENTS = 2**31 - 1


@dataclass(frozen=True)
class ArrayArgument:
    """An array at given parameters; `strides` in elements."""

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def elements(self) -> int:
        """Elements that its memory holds, gaps included."""
        if 0 in self.shape:
            return 0
        return 1 + sum(s * (n - 1) for s, n in zip(self.strides, self.shape, strict=True))

    @property
    def octets(self) -> int:
        """Size of its memory [bytes]."""
        return self.elements * self.dtype.itemsize

    def view(self, flat: Any) -> Any:
        """Its memory `flat` (shape (elements,)) seen in its own shape."""
        strides = tuple(stride * self.dtype.itemsize for stride in self.strides)
        return np.lib.stride_tricks.as_strided(flat, self.shape, strides)


def array_arguments(kernel: Any, parameters: Parameters) -> tuple[ArrayArgument, ...]:
    """Arrays among a kernel's arguments, in their order."""
    from loopy.kernel.array import ArrayBase, get_strides

    arrays = []
    for argument in kernel.args:
        if isinstance(argument, ArrayBase):
            shape = _evaluate(argument.shape, parameters)
            strides = _evaluate(get_strides(argument), parameters)
            dtype = argument.dtype.numpy_dtype
            arrays.append(ArrayArgument(argument.name, dtype, shape, strides))
    return tuple(arrays)


def scalar_arguments(kernel: Any, parameters: Parameters, scalars: Mapping[str, float]) -> dict[str, Any]:
    """Values of the kernel's scalar arguments, each of its own type; 0 for the offsets that Loopy adds to them.

    KernelArgumentError says that an argument has no value, or a value no argument.
    """
    from loopy import ValueArg

    values = {**scalars, **parameters}
    added = offset_arguments(kernel) - {a.name for a in kernel.args}
    wanted = {a.name: a.dtype.numpy_dtype for a in kernel.args if isinstance(a, ValueArg)}
    if set(wanted) != set(values):
        raise KernelArgumentError(kernel.name, tuple(wanted), tuple(values))
    found = {name: dtype.type(values[name]) for name, dtype in wanted.items()}
    return {**found, **dict.fromkeys(added, kernel.index_dtype.numpy_dtype.type(0))}


def offset_arguments(kernel: Any) -> set[str]:
    """Names of the scalar arguments that hold offsets of arrays; those of ``offset=lp.auto`` Loopy adds later."""
    from loopy import auto

    offsets = {argument.name: getattr(argument, "offset", 0) for argument in kernel.args}
    return {f"{name}_offset" if one is auto else str(one) for name, one in offsets.items() if one}


def fits(arrays: tuple[ArrayArgument, ...], most_octets: float, largest_octets: int) -> bool:
    """Whether arrays fit into a device: all together, each, and 32-bit indices."""
    octets = [array.octets for array in arrays]
    return (
        sum(octets) <= most_octets
        and max(octets, default=0) <= largest_octets
        and max((math.prod(a.shape) for a in arrays), default=0) <= MOST_ELEMENTS
    )


def contents(dtype: np.dtype[Any], seed: int) -> Any:
    """Draw a block of numbers in [0.5, 2): none is denormal and none overflows soon."""
    block = np.random.default_rng(seed).uniform(0.5, 2.0, BLOCK)
    return block.astype(dtype)


def host_array(array: ArrayArgument, seed: int, draw: Callable[..., Any] | None = None) -> Any:
    """Memory of `array` on the host, shape (elements,): ``draw(generator, shape)``, by default numbers in [0.5, 2)."""
    if draw is None:
        return np.resize(contents(array.dtype, seed), array.elements)
    flat = np.zeros(array.elements, array.dtype)
    if array.elements:
        array.view(flat)[...] = draw(np.random.default_rng(seed), array.shape)
    return flat


def device_buffer(queue: Any, array: ArrayArgument, block: Any) -> Any:
    """Memory of `array` on the device, filled with repetitions of `block`."""
    import pyopencl as cl

    buffer = cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, max(array.octets, 1))
    for start in range(0, array.elements, max(len(block), 1)):
        part = block[: array.elements - start]
        cl.enqueue_copy(queue, buffer, part, dst_offset=start * array.dtype.itemsize)
    queue.finish()
    return buffer


def _evaluate(expressions: Any, parameters: Parameters) -> tuple[int, ...]:
    from pymbolic import evaluate

    return tuple(int(evaluate(expression, dict(parameters))) for expression in expressions)


class FailedError(Exception):
    """A configuration failed with this status; the campaign turns it into a record."""

    def __init__(self, status: str, message: str) -> None:
        self.status = status
        self.message = message
        super().__init__(message)

    def __reduce__(self) -> tuple[type[FailedError], tuple[str, str]]:
        return type(self), (self.status, self.message)


@contextmanager
def stage(status: str) -> Iterator[None]:
    """Turn any exception of the block into a failure of this status."""
    try:
        yield
    except FailedError:
        raise
    except Exception as error:
        raise FailedError(status, one_line(error)) from error


def one_line(error: BaseException) -> str:
    """Return in one line what an exception says."""
    return " ".join(f"{type(error).__name__}: {error}".split())[:500]


@dataclass(frozen=True, eq=False)
class Subject:
    """A kernel class in one variant. Its generated code travels with it to other processes."""

    kernel: KernelClass
    variant: Variant

    @cached_property
    def generated(self) -> GeneratedCode:
        """Its code; building it may fail."""
        with stage("compile"), guest_streams():  # what a class prints is no result of a command
            generated = GeneratedCode(self.kernel.build(**self.variant))
            generated.hash  # noqa: B018 -- generates the code here, where a failure has its status
            return generated

    @property
    def unbuilt(self) -> Subject:
        """The same variant, which is never built: it has no code, and an empty hash."""
        return Subject(replace(self.kernel, build=_refuse), self.variant)

    @property
    def hash(self) -> str:
        """Hash of its code; empty if none can be generated."""
        try:
            return self.generated.hash
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

    @property
    def statistics(self) -> Mapping[str, float]:
        """What is known of its data, as of :func:`perfmodel.counts.count`."""
        return self.kernel.known_statistics(self.variant)

    def arrays(self, parameters: Parameters) -> tuple[ArrayArgument, ...]:
        """Its arrays at these parameters."""
        return array_arguments(self.generated.kernel, parameters)


def _refuse(**variant: object) -> NoReturn:
    raise FailedError("compile", "not to be built")
