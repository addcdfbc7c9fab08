"""A variant of a kernel class to be measured, its generated code, and its arguments."""

import io
import math
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NoReturn, TypeVar

import loopy as lp
import numpy as np
from loopy import AddressSpace, ImageArg, LoopKernel, PyOpenCLTarget, TranslationUnit, ValueArg
from loopy.kernel.array import ArrayBase, SeparateArrayArrayDimTag, VectorArrayDimTag
from loopy.preprocess import make_args_for_offsets_and_strides, make_arrays_for_sep_arrays
from pymbolic import evaluate, parse
from pymbolic.mapper.evaluator import UnknownVariableError

from perfmodel.documents import canonical
from perfmodel.errors import ArgumentError, KernelError, PerfModelError, listed
from perfmodel.kernels import KernelClass, Parameters, Variant
from perfmodel.kernels.samples import KeptKernel, code_hash
from perfmodel.store import Key

K = TypeVar("K")
T = TypeVar("T")


class FailedError(Exception):
    """A configuration failed with a status, which the campaign records."""

    def __init__(self, status: str, message: str) -> None:
        super().__init__(status, message)
        self.status, self.message = status, message

    def __str__(self) -> str:
        return self.message


def remembered(known: dict[K, T | FailedError], key: K, work: Callable[[], T]) -> T:
    """Return what the first call of `work` for a key returned, or raise the FailedError that it raised."""
    if key not in known:
        try:
            known[key] = work()
        except FailedError as failure:
            known[key] = failure
    outcome = known[key]
    if isinstance(outcome, FailedError):
        raise outcome
    return outcome


@dataclass(frozen=True, eq=False)
class GeneratedCode:
    """Loopy's code for a translation unit. Pickles contain the code, since another process may generate other code."""

    t_unit: TranslationUnit

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("t_unit", "text", "host_function")}

    @cached_property
    def _generated(self) -> Any:
        with redirect_stdout(io.StringIO()):  # Loopy prints a kernel that it refuses
            return lp.generate_code_v2(self.t_unit)

    @cached_property
    def text(self) -> str:
        """The OpenCL code."""
        return str(self._generated.device_code())

    @cached_property
    def hash(self) -> str:
        """Hash of the code (:func:`perfmodel.kernels.samples.code_hash`)."""
        return code_hash(self)

    @cached_property
    def kernel(self) -> Any:
        """The entry point, with the types of its arguments."""
        kernel = self.t_unit.default_entrypoint
        typed = all(argument.dtype is not None for argument in kernel.args)
        return kernel if typed else lp.infer_unknown_types(self.t_unit).default_entrypoint

    @cached_property
    def host_function(self) -> tuple[str, str]:
        """Name and Python code of Loopy's host function."""
        target = self.t_unit.target
        if not isinstance(target, PyOpenCLTarget):
            problem = f"its target is {type(target).__name__}; to run it, make it for loopy.PyOpenCLTarget"
            raise FailedError("compile", problem)
        code = self._generated.host_code()
        if ".svm_ptr" in code:
            limit = f"limit_arg_size_nbytes={target.limit_arg_size_nbytes}"
            raise FailedError("compile", f"{limit} of its target moves arrays into a structure; to run it, raise this")
        return self._generated.host_programs[self.kernel.name].name, code


BLOCK = 2**20  # number of random elements, which larger arrays repeat
MOST_ELEMENTS = 2**31 - 1  # most elements of an array: Loopy's indices have 32 bits


@dataclass(frozen=True)
class ArrayArgument:
    """An array at given sizes, `strides` and `offset` in elements. `buffers` names the parts of ``sep`` axes."""

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int = 0
    vector: int = 1  # elements in a vector, of an array with a ``vec`` axis
    buffers: tuple[str, ...] = ()

    @property
    def elements(self) -> int:
        """Number of elements in memory, gaps included."""
        return _elements(self.shape, self.strides, self.vector) + self.offset

    @property
    def octets(self) -> int:
        """Size of the memory of the array [bytes]."""
        return self.elements * self.dtype.itemsize

    @property
    def parts(self) -> dict[str, slice]:
        """The slice of the array's memory for each of its buffers, by name."""
        names = self.buffers or (self.name,)
        each = self.elements // len(names)
        return {name: slice(index * each, (index + 1) * each) for index, name in enumerate(names)}

    def view(self, flat: Any) -> Any:
        """Return the memory `flat` of the array, shape (elements,), as a view with the shape of the array."""
        strides = tuple(stride * self.dtype.itemsize for stride in self.strides)
        return np.lib.stride_tricks.as_strided(flat[self.offset :], self.shape, strides)


def _elements(shape: Sequence[int], strides: Sequence[int], vector: int) -> int:
    if 0 in shape:
        return 0
    last = sum(stride * (extent - 1) for stride, extent in zip(strides, shape, strict=True))
    return (last // vector + 1) * vector


def with_all_arguments(kernel: Any) -> Any:
    """Return a kernel with all arguments of its code: parts of ``sep`` arrays, and offsets and strides of Loopy."""
    if not isinstance(kernel, LoopKernel):  # of a kept kernel
        return kernel
    return make_args_for_offsets_and_strides(make_arrays_for_sep_arrays(kernel))


def array_arguments(kernel: Any, values: Mapping[str, Any]) -> tuple[ArrayArgument, ...]:
    """Return the arrays among the arguments of a kernel, in order. `values` has its sizes, and offsets other than 0.

    Raise KernelError for an array without a known size, and ArgumentError for a size without a value.
    """
    arrays = [argument for argument in with_all_arguments(kernel).args if isinstance(argument, ArrayBase)]
    parts = {name for array in arrays for name in _buffers(array)}
    try:
        return tuple(_array(kernel.name, array, values) for array in arrays if array.name not in parts)
    except UnknownVariableError as error:
        scalars = (argument.name for argument in kernel.args if isinstance(argument, ValueArg))
        raise _other_scalars(kernel.name, scalars, values) from error


def _other_scalars(kernel: str, wanted: Iterable[str], given: Iterable[str]) -> ArgumentError:
    names, values = listed(sorted(wanted)), listed(sorted(given))
    problem = f"kernel '{kernel}' has the scalar arguments ({names}), but values were given for ({values})"
    return ArgumentError(problem, "give each of them a value, as a size (-p) or a scalar")


def _buffers(argument: Any) -> tuple[str, ...]:
    separation = getattr(argument, "_separation_info", None)
    return tuple(name for _, name in sorted(separation.subarray_names.items())) if separation else ()


def _array(kernel: str, argument: Any, values: Mapping[str, Any]) -> ArrayArgument:
    problems = {
        "is an image": isinstance(argument, ImageArg),
        "is in local memory": getattr(argument, "address_space", None) == AddressSpace.LOCAL,
        "has no shape": not isinstance(argument.shape, tuple),
    }
    if what := next((what for what, holds in problems.items() if holds), ""):
        problem = f"the argument '{argument.name}' of the kernel '{kernel}' {what}"
        raise KernelError(problem, "make it a loopy.GlobalArg with a shape: kernels run with buffers of known sizes")
    shape, tags, strides = _evaluate(argument.shape, values), argument.dim_tags or (), dict[int, int]()
    vector = 1
    for axis, tag in enumerate(tags):
        if isinstance(tag, VectorArrayDimTag):
            strides[axis], vector = 1, 4 if shape[axis] == 3 else shape[axis]
        elif not isinstance(tag, SeparateArrayArrayDimTag):
            strides[axis] = _evaluate([tag.stride], values)[0]
    offset = 0 if not argument.offset else _evaluate([argument.offset], defaultdict(int, values))[0]
    each = offset + _elements([shape[axis] for axis in strides], [*strides.values()], vector)
    for axis in reversed(range(len(shape))):
        if axis not in strides:
            strides[axis], each = each, each * shape[axis]
    in_order, dtype = tuple(strides[axis] for axis in range(len(shape))), argument.dtype.numpy_dtype
    return ArrayArgument(argument.name, dtype, shape, in_order, offset, vector, _buffers(argument))


def scalar_arguments(kernel: Any, parameters: Parameters, scalars: Mapping[str, Any]) -> dict[str, Any]:
    """Return a kernel's scalar arguments in their types. Offsets are 0 by default. Other names raise ArgumentError."""
    values = {**dict.fromkeys(offset_arguments(kernel), 0), **scalars, **parameters}
    wanted = {a.name: a.dtype.numpy_dtype for a in with_all_arguments(kernel).args if isinstance(a, ValueArg)}
    if set(wanted) != set(values):
        raise _other_scalars(kernel.name, wanted, values)
    return {name: np.array(values[name], dtype)[()] for name, dtype in wanted.items()}


def offset_arguments(kernel: Any) -> set[str]:
    """Return the names of the scalar arguments that hold offsets of arrays."""
    arguments = with_all_arguments(kernel).args
    scalars = {argument.name for argument in arguments if isinstance(argument, ValueArg)}
    return scalars & {str(getattr(argument, "offset", "")) for argument in arguments}


def fits(arrays: tuple[ArrayArgument, ...], most_octets: float, largest_octets: int) -> bool:
    """Whether arrays fit into a device. Limits are on each array, on their sum, and on the range of 32-bit indices."""
    if sum(array.octets for array in arrays) > most_octets:
        return False
    return all(array.octets <= largest_octets and math.prod(array.shape) <= MOST_ELEMENTS for array in arrays)


def contents(dtype: np.dtype[Any], seed: int) -> Any:
    """Return random numbers in [0.5, 2). None is denormal, and sums or products do not soon overflow."""
    return np.random.default_rng(seed).uniform(0.5, 2.0, BLOCK).astype(dtype)


def host_array(array: ArrayArgument, seed: int, draw: Callable[..., Any] | None = None) -> Any:
    """Return memory of an array on the host, shape (elements,), from `draw` or random numbers in [0.5, 2)."""
    if draw is None:
        return np.resize(contents(array.dtype, seed), array.elements)
    flat = np.zeros(array.elements, array.dtype)
    if array.elements:
        array.view(flat)[...] = draw(np.random.default_rng(seed), array.shape)
    return flat


def _evaluate(expressions: Any, values: Mapping[str, Any]) -> tuple[int, ...]:
    parsed = (parse(each) if isinstance(each, str) else each for each in expressions)
    return tuple(int(evaluate(each, values)) for each in parsed)


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
    """Return the type and message of an exception in one line, without perfmodel's types and without paths."""
    kind = "" if isinstance(error, PerfModelError) else f"{type(error).__name__}: "
    text = " ".join(f"{kind}{error}".split())
    if "BUILD_PROGRAM_FAILURE" in text and (found := re.search(r"\berror: ", text)):
        errors = re.sub(r"[^ ]+[.]cl:([0-9]+):[0-9]+", r"line \1", text[found.start() :])
        text = f"the compiler says: {errors}"
    return text[:500]


@dataclass(frozen=True, eq=False)
class Subject:
    """A variant of a kernel class. Pickles contain the generated code."""

    kernel: KernelClass
    variant: Variant

    @cached_property
    def generated(self) -> GeneratedCode | KeptKernel:
        """The code of the variant. If it cannot be generated, raise FailedError."""
        with stage("compile"), redirect_stdout(sys.stderr):  # a class may print
            unit = self.kernel.build(**self.variant)
            generated = unit if isinstance(unit, KeptKernel) else GeneratedCode(unit)
            generated.hash  # noqa: B018 -- generates the code here, where a failure gets its status
            return generated

    @property
    def unbuilt(self) -> "Subject":
        """The same variant without code, and with an empty hash."""
        return Subject(replace(self.kernel, build=_refuse), self.variant)

    @property
    def hash(self) -> str:
        """Hash of the code, or "" if the code cannot be generated."""
        with suppress(FailedError):
            return self.generated.hash
        return ""

    @property
    def key(self) -> Key:
        """Class, variant and code, which identify counts and checks. Without code, raise FailedError."""
        return self.kernel.name, canonical(self.variant), self.generated.hash

    @property
    def smallest(self) -> Parameters:
        """The smallest size of the variant. The output is checked there."""
        return self.kernel.sizes.at(self.kernel.sizes.start)[0]

    @property
    def scalars(self) -> Mapping[str, float]:
        """The floating-point arguments."""
        return self.kernel.scalars(**self.variant)

    @property
    def statistics(self) -> Mapping[str, float]:
        """Statistics of the data (:func:`perfmodel.counts.count`)."""
        return self.kernel.known_statistics(self.variant)

    def arrays(self, parameters: Parameters) -> tuple[ArrayArgument, ...]:
        """Return the arrays at these sizes."""
        return array_arguments(self.generated.kernel, {**self.scalars, **parameters})


def _refuse(**variant: object) -> NoReturn:
    raise FailedError("compile", "not to be built")
