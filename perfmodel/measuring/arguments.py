"""Arguments of a kernel: sizes, scalars, and arrays with contents in [0.5, 2)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from perfmodel.errors import KernelArgumentError
from perfmodel.kernels import Parameters

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

    Raises
    ------
    KernelArgumentError
        An argument has no value, or a value no argument.
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
    """Memory of `array` on the host, shape (elements,).

    Its contents are ``draw(generator, shape)``, by default numbers in [0.5, 2).
    """
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
