"""Outputs of a kernel's variants, compared with each other: all should compute the same."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

#: Largest difference of two outputs, relative to the larger of the element and the array's mean magnitude [1], by the
#: size of a real number [bytes]. Variants add up in different orders; whole numbers must be equal. The one of float32
#: is that of a campaign's check against a reference.
TOLERANCE = MappingProxyType({2: 1e-2, 4: 1e-4, 8: 1e-8})


def output_names(kernel: Any) -> tuple[str, ...]:
    """Return the names of the array arguments that a kernel writes, in the order of its arguments."""
    from loopy.kernel.array import ArrayBase

    written = kernel.get_written_variables()
    return tuple(one.name for one in kernel.args if isinstance(one, ArrayBase) and one.name in written)


def tolerance_of(dtype: np.dtype[Any]) -> float:
    """Return the largest relative difference of numbers of a type [1]; 0 for whole numbers."""
    if dtype.kind not in "fc":
        return 0.0
    real = dtype.itemsize // (2 if dtype.kind == "c" else 1)
    return TOLERANCE.get(real, TOLERANCE[8])


def differences(
    found: Mapping[str, Any], expected: Mapping[str, Any], tolerance: float | None = None
) -> tuple[str, ...]:
    r"""Return a phrase for each output that differs: the argument, by how much, where, and in how many elements.

    Elements :math:`x` and :math:`y` differ if :math:`|x - y| > t \max(|y|, m)`, with the mean magnitude :math:`m` of
    the expected array, so that an element in which large numbers cancel is not asked for its own digits.

    Parameters
    ----------
    found, expected
        Outputs by name, of the same names.
    tolerance
        The :math:`t` of floating-point numbers, in place of :func:`tolerance_of`.

    Examples
    --------
    >>> differences({"c": np.array([1.0, 2.5])}, {"c": np.array([1.0, 2.0])})
    ("'c' by up to 0.5 (25 %), in 1 of 2 elements, first c[1] = 2.5 instead of 2.0",)
    """
    return tuple(phrase for name in expected if (phrase := _difference(name, found[name], expected[name], tolerance)))


def _difference(name: str, found: Any, expected: Any, tolerance: float | None) -> str:
    if (found.shape, found.dtype) != (expected.shape, expected.dtype):
        return f"'{name}' is {_kind(found)} instead of {_kind(expected)}"
    if found.dtype.kind not in "biufc":  # a structure, for example
        return "" if found.tobytes() == expected.tobytes() else f"'{name}'"
    wide = np.complex128 if found.dtype.kind == "c" else np.longdouble if found.dtype.kind in "iu" else np.float64
    with np.errstate(all="ignore"):
        one, other = found.astype(wide), expected.astype(wide)
        apart = np.abs(one - other)
        scale = np.maximum(np.abs(other), _mean(np.abs(other)))
        most = tolerance_of(found.dtype) if tolerance is None or found.dtype.kind not in "fc" else tolerance
        near = (apart <= most * scale) & np.isfinite(other)
        same = near | (found == expected) | (np.isnan(one) & np.isnan(other))
    if same.all():
        return ""
    apart = np.where(same, 0, np.where(np.isnan(apart), np.inf, apart))
    first = tuple(int(place) for place in np.unravel_index(int(np.argmin(same)), same.shape))
    worst = np.unravel_index(int(np.argmax(apart)), same.shape)
    where = f"{name}[{', '.join(map(str, first))}]" if first else name
    share = float(apart[worst] / scale[worst]) if scale[worst] and np.isfinite(apart[worst]) else float("inf")
    return (
        f"'{name}' by up to {float(apart[worst]):.3g} ({100 * share:.3g} %), in {np.count_nonzero(~same)} of "
        f"{same.size} elements, first {where} = {found[first]!s} instead of {expected[first]!s}"
    )


def _mean(values: Any) -> Any:
    finite = values[np.isfinite(values)]
    return finite.mean() if finite.size else 0.0


def _kind(array: Any) -> str:
    return f"{array.dtype.name} of shape {array.shape}"
