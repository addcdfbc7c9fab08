"""Arguments that a user's function ``arguments(**sizes)`` gives, checked against a kernel's own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from perfmodel.errors import GivenArgumentError
from perfmodel.kernels import Parameters
from perfmodel.measuring.arguments import array_arguments


def check_given(kernel: Any, given: Mapping[str, Any], parameters: Parameters) -> None:
    """Check names, types and shapes of the arguments given for a kernel at these parameters.

    Those that are left out are made as a campaign makes them.

    Raises
    ------
    GivenArgumentError
        If the kernel has no such argument, or it has another type, shape or value.
    """
    arrays = {one.name: one for one in array_arguments(kernel, parameters)}
    known = {one.name: one for one in kernel.args}
    for name, value in given.items():
        if name not in known:
            raise GivenArgumentError(kernel.name, name, "is no argument of it", f"one of {', '.join(known)}")
        if name in parameters:
            if not _is_same(value, parameters[name]):
                raise GivenArgumentError(kernel.name, name, f"is {value!r}", f"the size {parameters[name]}")
        elif name in arrays:
            _check_array(kernel.name, name, value, arrays[name].dtype, arrays[name].shape)
        else:
            _check_scalar(kernel.name, name, value, known[name].dtype.numpy_dtype)


def _check_array(kernel: str, name: str, value: Any, dtype: np.dtype[Any], shape: tuple[int, ...]) -> None:
    allowed = f"a numpy array of {dtype.name} and shape {shape}"
    if not isinstance(value, np.ndarray):
        raise GivenArgumentError(kernel, name, f"is of type {type(value).__name__}", allowed)
    if (value.dtype, value.shape) != (dtype, shape):
        raise GivenArgumentError(kernel, name, f"is an array of {value.dtype.name} and shape {value.shape}", allowed)


def _check_scalar(kernel: str, name: str, value: Any, dtype: np.dtype[Any]) -> None:
    """Numbers of Python are of any type that holds their value; those of numpy are of the kernel's own."""
    allowed = f"a number of {dtype.name}"
    if np.ndim(value) or not isinstance(value, (bool, int, float, complex, np.generic)):
        raise GivenArgumentError(kernel, name, f"is of type {type(value).__name__}", allowed)
    if isinstance(value, np.generic):
        if value.dtype != dtype:
            raise GivenArgumentError(kernel, name, f"is a number of {value.dtype.name}", allowed)
        return
    kinds = {"b": (bool,), "f": (int, float), "c": (int, float, complex)}
    if dtype.kind in "iu":
        fits = isinstance(value, int) and np.iinfo(dtype).min <= value <= np.iinfo(dtype).max
    else:
        fits = isinstance(value, kinds.get(dtype.kind, ()))
    if not fits:
        raise GivenArgumentError(kernel, name, f"is {value!r}", allowed)


def _is_same(value: Any, size: int) -> bool:
    return bool(np.ndim(value) == 0 and value == size)
