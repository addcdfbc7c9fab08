"""Outputs of a kernel's variants, compared element by element."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

#: Largest difference of two outputs, relative to the larger of the element and the array's :func:`magnitude` [1], by
#: the size of a real number [bytes]. Variants add up in different orders; whole numbers must be equal. The one of
#: float32 is that of a campaign's check against a reference.
TOLERANCE = MappingProxyType({2: 1e-2, 4: 1e-4, 8: 1e-8})


def all_nan(array: Any) -> bool:
    """Whether an array has elements, and each is NaN."""
    return bool(array.dtype.kind in "fc" and array.size and np.isnan(array).all())


def output_names(kernel: Any) -> tuple[str, ...]:
    """Return the names of the array arguments that a kernel writes, in the order of its arguments."""
    from loopy.kernel.array import ArrayBase

    written = kernel.get_written_variables()
    return tuple(one.name for one in kernel.args if isinstance(one, ArrayBase) and one.name in written)


def tolerance_of(dtype: np.dtype[Any], terms: float = 1.0) -> float:
    r"""Return the largest relative difference of numbers of a type [1]; 0 for whole numbers.

    It is that of :data:`TOLERANCE`, or :math:`2 \varepsilon \sqrt{k}` of sums of :math:`k` terms where that is more:
    the errors of a sum's additions are about independent.
    """
    if dtype.kind not in "fc":
        return 0.0
    real = np.dtype(f"f{dtype.itemsize // (2 if dtype.kind == 'c' else 1)}")
    sums = 2 * float(np.finfo(real).eps) * float(np.sqrt(max(terms, 1.0)))
    return max(TOLERANCE.get(real.itemsize, TOLERANCE[8]), sums)


def differences(
    found: Mapping[str, Any], expected: Mapping[str, Any], tolerance: float | None = None, terms: float = 1.0
) -> tuple[str, ...]:
    r"""Return a phrase for each output that differs: the argument, by how much, where, and in how many elements.

    Elements :math:`x` and :math:`y` differ if :math:`|x - y| > t \max(|y|, m)`, with the :func:`magnitude` :math:`m`
    of the expected array, so that an element in which larger numbers cancel is not asked for its own digits. A
    structure is compared field by field. NaN equals NaN.

    Parameters
    ----------
    found, expected
        Outputs by name; those of `expected` are compared.
    tolerance
        The :math:`t` of floating-point numbers, in place of :func:`tolerance_of`.
    terms
        How many numbers are added up for an element, about [1].

    Examples
    --------
    >>> differences({"c": np.array([1.0, 2.5])}, {"c": np.array([1.0, 2.0])})
    ("'c' by up to 0.5 (25 %), in 1 of 2 elements, first c[1] = 2.5 instead of 2.0",)
    """
    phrases = (_difference(name, found[name], expected[name], tolerance, terms) for name in expected)
    return tuple(filter(None, phrases))


def magnitude(values: Any) -> float:
    """Return what three quarters of an array's elements exceed, zeros and what is not finite left out.

    A few large elements do not raise it, nor do many: one of 1e20 hides no others.

    Examples
    --------
    >>> magnitude(np.array([0.0, 1.0, 2.0, 3.0, 1e20]))
    1.75
    """
    known = values[np.isfinite(values) & (values != 0)]
    return float(np.quantile(known, 0.25)) if known.size else 0.0


def _difference(name: str, found: Any, expected: Any, tolerance: float | None, terms: float) -> str:
    if (found.shape, found.dtype) != (expected.shape, expected.dtype):
        return f"'{name}' is {_kind(found)} instead of {_kind(expected)}"
    if found.dtype.names:
        parts = ((f"{name}.{part}", found[part], expected[part]) for part in found.dtype.names)
        return next(filter(None, (_difference(*part, tolerance, terms) for part in parts)), "")
    if found.dtype.kind not in "biufc":
        return "" if found.tobytes() == expected.tobytes() else f"'{name}'"
    wide = np.complex128 if found.dtype.kind == "c" else np.longdouble if found.dtype.kind in "iu" else np.float64
    with np.errstate(all="ignore"):
        one, other = found.astype(wide), expected.astype(wide)
        apart, size = np.abs(one - other), np.abs(other)
        scale = np.maximum(size, magnitude(size))
        given = tolerance is not None and found.dtype.kind in "fc"
        most = tolerance if given else tolerance_of(found.dtype, terms)
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


def _kind(array: Any) -> str:
    return f"{array.dtype.name} of shape {array.shape}"
