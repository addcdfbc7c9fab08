"""Checks of the sizes at which a count is evaluated."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from perfmodel.errors import ParameterError


def whole(name: str, value: object, allowed: tuple[str, ...]) -> int:
    """Return ``value`` as a non-negative int, or raise :class:`ParameterError`."""
    try:
        result = int(value)  # type: ignore[call-overload]
        same = bool(result == value)
    except (TypeError, ValueError, OverflowError):
        same, result = False, -1
    if not same or isinstance(value, (bool, str)):
        raise ParameterError(name, f"is {value!r}, not an integer", allowed)
    if result < 0:
        raise ParameterError(name, f"is {result}, which is negative", allowed)
    return result


def whole_array(name: str, values: ArrayLike, allowed: tuple[str, ...]) -> NDArray[np.int64]:
    """Return ``values`` as an int64 array, or raise :class:`ParameterError`."""
    array = np.asarray(values)
    if array.dtype.kind not in "iu":
        floats = np.asarray(array, dtype=np.float64)
        wrong = floats != np.floor(floats)
        if array.dtype.kind != "f" or wrong.any() or not np.isfinite(floats).all():
            raise ParameterError(name, f"has values of type {array.dtype}", allowed)
    if array.size and array.min() < 0:
        raise ParameterError(name, f"is {array.min()} somewhere, which is negative", allowed)
    return array.astype(np.int64)
