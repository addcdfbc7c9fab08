"""Kinds of operations that are one instruction, although source code may call a function for them."""

from __future__ import annotations

SIMPLE = frozenset({
    "add", "mul", "minmax", "shift", "bitwise",
    "fabs", "floor", "ceil", "trunc", "rint", "copysign", "isnan", "isinf", "isfinite",
})  # fmt: skip
"""Kinds that a CPU or GPU computes in one instruction; comparisons and signs are not counted at all."""
