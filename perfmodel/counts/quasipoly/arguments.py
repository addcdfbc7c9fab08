"""Checks of the sizes at which a count is evaluated."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from perfmodel.documents import EXACT, shortened
from perfmodel.errors import ParameterError, SizeRangeError


def whole(name: str, value: object, allowed: tuple[str, ...]) -> int:
    """Return ``value`` as a non-negative int, or raise :class:`ParameterError`."""
    try:
        result = int(value)  # type: ignore[call-overload]
        same = bool(result == value)
    except (TypeError, ValueError, OverflowError, np.ma.MaskError):
        same, result = False, -1
    if not same or isinstance(value, (bool, np.bool_, str)):
        raise ParameterError(name, f"is {shortened(value)}, not an integer", allowed)
    if result < 0:
        raise ParameterError(name, f"is {shortened(result)}, which is negative", allowed)
    return result


def given_size(name: str, value: Any, allowed: tuple[str, ...] = ()) -> Any:
    """Return a size as it is, or what holds several of them, such as a column of pandas, as an array.

    Raises
    ------
    ParameterError
        If entries are masked, or do not make an array.
    """
    if type(value) is int:
        return value
    if isinstance(value, np.ma.MaskedArray) and (masked := int(np.ma.getmaskarray(value).sum())):
        problem = f"has {masked} masked {'entry' if masked == 1 else 'entries'} of {value.size}"
        raise ParameterError(name, problem, allowed)
    if not isinstance(value, (list, tuple, range)) and not getattr(value, "ndim", 0):
        return value
    try:
        array = np.asarray(value)
    except (TypeError, ValueError):
        raise ParameterError(name, f"is {shortened(value)}, which makes no array", allowed) from None
    return value if isinstance(value, (list, tuple)) else array


def check_exact(name: str, value: Any, allowed: tuple[str, ...]) -> None:
    """Raise :class:`ParameterError` if a size, or one in an array of them, is too large to be exact as a double."""
    largest = _above(value, EXACT)
    if largest is not None:
        raise ParameterError(name, f"is {shortened(largest)}, above 2**53 and so not exact as a double", allowed)


def check_range(name: str, value: Any, allowed: tuple[str, ...], dtype: str) -> None:
    """Raise :class:`SizeRangeError` if a size, or one in an array of them, is larger than a type of integers holds."""
    low, high = _limits(dtype)
    largest = _above(value, high)
    if largest is not None:
        raise SizeRangeError(name, f"is {largest}", allowed, dtype, low, high)


@lru_cache
def _limits(dtype: str) -> tuple[int, int]:
    return int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)


def _above(value: Any, limit: int) -> Any:
    """Return the largest of one or more sizes if it is above a limit, else None; also where they are no numbers."""
    if type(value) is int:  # by far the most frequent case, and predictions have to be quick
        return value if value > limit else None
    several = isinstance(value, np.ndarray | list | tuple)
    try:
        largest = np.max(value, initial=0) if several else value
        return largest if largest > limit else None
    except (TypeError, ValueError):  # no number; `whole` says so
        return None


def whole_array(name: str, values: ArrayLike, allowed: tuple[str, ...]) -> NDArray[np.int64]:
    """Return ``values`` as an int64 array, or raise :class:`ParameterError`."""
    array = np.asarray(given_size(name, values, allowed))
    if array.dtype.kind not in "iuf" or (array.dtype.kind == "f" and not (array == np.floor(array)).all()):
        raise ParameterError(name, f"has values of type {array.dtype}", allowed)
    if array.size and array.max() >= 2**63:
        raise ParameterError(name, f"is {array.max()} somewhere, which is more than 64 bits hold", allowed)
    if array.size and array.min() < 0:
        raise ParameterError(name, f"is {array.min()} somewhere, which is negative", allowed)
    return array.astype(np.int64)
