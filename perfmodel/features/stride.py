r"""Amortised stride fractions: the class that the cost of a global access depends on.

With lane stride :math:`s` in units of the access size and utilisation
:math:`u = |F| / |F_{filled}|` (distinct cells touched over the same with the gaps of the stride
filled in), and :math:`m = \min(s, 4)`, the class is

- ``uniform`` for :math:`s = 0` and ``stride1`` for :math:`s = 1`, whatever :math:`u` is;
- ``stride<s>_<q>of<m>``, or ``strideN_<q>of4`` for :math:`s > 4`, with
  :math:`q = \lceil u m \rceil` clipped to :math:`1 \ldots m`.

Source: Stevens and Klöckner, *A Unified, Hardware-Fitted, Cross-GPU Performance Model*,
section 2.1.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

# Every class has a code, so that arrays of sizes can be classified at once:
# 0 uniform, 1 stride1, else 10*d + q with d = 2, 3, 4 for that stride and 5 for any larger one.
CLASS_NAMES: Mapping[int, str] = MappingProxyType(
    {0: "uniform", 1: "stride1"}
    | {10 * s + q: f"stride{s}_{q}of{s}" for s in (2, 3, 4) for q in range(1, s + 1)}
    | {50 + q: f"strideN_{q}of4" for q in range(1, 5)}
)


Number = int | float | Fraction


def class_code(stride: Number, footprint: Number, filled: Number) -> int:
    """Return the code of the stride class of one access at one size.

    The stride is the address difference of neighbouring lanes [access size]; `footprint` and `filled` are the distinct
    cells touched, without and with the gaps filled in. Give exact numbers, so that no rounding decides a class.

    Examples
    --------
    >>> CLASS_NAMES[class_code(2, 512, 1024)], CLASS_NAMES[class_code(2, 1024, 1025)]
    ('stride2_1of2', 'stride2_2of2')
    """
    if stride == 0:
        return 0
    if stride <= 1:
        return 1
    slots = min(-int(-stride // 1), 4)
    q = -int(-footprint * slots // filled) if filled else 1
    return 10 * (slots if stride <= 4 else 5) + min(max(q, 1), slots)


def class_codes(stride: Any, footprint: Any, filled: Any) -> npt.NDArray[np.int64]:
    """Return :func:`class_code` for arrays, which are broadcast against each other."""
    stride, footprint, filled = np.broadcast_arrays(
        np.asarray(stride, float), np.asarray(footprint, float), np.asarray(filled, float)
    )
    slots = np.minimum(np.ceil(stride), 4)
    q = np.ceil(footprint * slots / np.where(filled == 0, 1, filled))
    q = np.clip(q, 1, np.maximum(slots, 1))
    codes = 10 * np.where(stride <= 4, slots, 5) + q
    return np.where(stride == 0, 0, np.where(stride <= 1, 1, codes)).astype(np.int64)


def stride_class(stride: Number, footprint: Number = 1, filled: Number = 1) -> str:
    """Return the name of the stride class of one access at one size.

    Examples
    --------
    >>> stride_class(0), stride_class(1), stride_class(1024, 10, 30)
    ('uniform', 'stride1', 'strideN_2of4')
    """
    return CLASS_NAMES[class_code(stride, footprint, filled)]
