"""Terms that do not depend on each other: the device may compute many at once, and only their sum is a chain."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

#: The term at the point x, as Loopy and as NumPy write it.
TERMS: Mapping[str, tuple[str, Callable[..., Any]]] = MappingProxyType(
    {
        "rsqrt": ("rsqrt(x)", lambda x: x**-0.5),
        "sqrt": ("sqrt(x)", np.sqrt),
        "exp": ("exp(-1*x)", lambda x: np.exp(-x)),
        "div": ("1.5/x", lambda x: 1.5 / x),
        "mul": ("x*x*x*x*x", lambda x: x**5),
    }
)
TYPES = ("float32", "float64")


def term_feature(term: str, dtype: str, **variant: object) -> str:
    """Name of the feature that such a sum isolates."""
    return f"op_{dtype}_{term if term in ('div', 'mul') else 'special'}"
