"""What a campaign builds, checks and times: a variant of a kernel class, its generated code, and its arguments.

Arrays have contents in [0.5, 2). Each stage that can fail has a name, which the record keeps.
"""

from __future__ import annotations

import hashlib
import io
import math
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from perfmodel.errors import KernelArgumentError, PerfModelError
from perfmodel.kernels import KernelClass, Parameters, Variant
from perfmodel.kernels.samples import KeptKernel
from perfmodel.threads import guest_streams, redirected

if TYPE_CHECKING:
    from loopy import TranslationUnit


@dataclass(frozen=True, eq=False)
class GeneratedCode:
    """The code that Loopy generates for a translation unit.

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

    @cached_property
    def kernel(self) -> Any:
        """The one kernel that the host calls, with the types of its arguments, as Loopy infers them."""
        kernel = self.t_unit.default_entrypoint
        if all(argument.dtype is not None for argument in kernel.args):
            return kernel
        import loopy as lp

        return lp.infer_unknown_types(self.t_unit).default_entrypoint

    @cached_property
    def host_function(self) -> tuple[str, str]:
        """Name of Loopy's host function, and its Python code."""
        return self._generated.host_programs[self.kernel.name].name, self._generated.host_code()


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
    typed = {name: dtype.type(values[name]) for name, dtype in wanted.items()}
    return {**typed, **dict.fromkeys(added, kernel.index_dtype.numpy_dtype.type(0))}


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
    """Return in one line what an exception says; one of perfmodel's own needs no name, a compiler's log no paths."""
    kind = "" if isinstance(error, PerfModelError) else f"{type(error).__name__}: "
    text = " ".join(f"{kind}{error}".split())
    if "BUILD_PROGRAM_FAILURE" in text and (found := re.search(r"\berror: ", text)):
        said = re.sub(r"[^ ]+[.]cl:([0-9]+):[0-9]+", r"line \1", text[found.start() :])
        text = f"the compiler says: {said}"
    return text[:500]


@dataclass(frozen=True, eq=False)
class Subject:
    """A kernel class in one variant. Its generated code travels with it to other processes."""

    kernel: KernelClass
    variant: Variant

    @cached_property
    def generated(self) -> GeneratedCode | KeptKernel:
        """Its code; building it may fail."""
        with stage("compile"), guest_streams():  # what a class prints is no result of a command
            unit = self.kernel.build(**self.variant)
            generated = unit if isinstance(unit, KeptKernel) else GeneratedCode(unit)
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
