"""Terms that do not depend on each other: the device may compute many at once, and only their sum is a chain."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import loopy as lp
import numpy as np

from perfmodel.kernels.shapes import WorkGroup, assume

#: The term at the point x, as Loopy and as NumPy write it.
TERMS: Mapping[str, tuple[str, Callable[..., Any]]] = MappingProxyType(
    {
        "rsqrt": ("rsqrt(x)", lambda x: x**-0.5),
        "sqrt": ("sqrt(x)", np.sqrt),
        "exp": ("exp(-1*x)", lambda x: np.exp(-x)),
        "div": ("1.5/x", lambda x: 1.5 / x),
        "mul": ("x*x*x*x*x", lambda x: x**5),
        "log": ("log(x)", np.log),
        "sin": ("sin(x)", np.sin),
        "cos": ("cos(x)", np.cos),
        "tanh": ("tanh(x)", np.tanh),
    }
)
TYPES = ("float32", "float64")
SCALE = 2.0**-13
"""Distance of the points at which neighbouring work-items begin, and of those that follow each other."""


def term_sum(term: str, dtype: str, work_group: WorkGroup) -> lp.TranslationUnit:
    """Sum a term at k points for each of n work-items, without a load."""
    t_unit = lp.make_kernel(
        "{[i, s]: 0 <= i < n and 0 <= s < k}",
        [
            "for i, s",
            "<int32> index = i + s {id=index}",
            f"<{dtype}> lane = index {{id=lane, dep=index}}",
            f"<{dtype}> x = 1 + scale*lane {{id=x, dep=lane}}",
            "end",
            f"out[i] = sum(s, {TERMS[term][0]}) {{dep=x}}",
        ],
        [
            lp.GlobalArg("out", np.dtype(dtype), shape="n"),
            lp.ValueArg("scale", np.dtype(dtype)),
            lp.ValueArg("n, k", np.int32),
        ],
        assumptions=assume(n=work_group, k=()),
        name=f"{term}_{dtype}_terms",
        lang_version=(2018, 2),
    )
    return lp.split_iname(t_unit, "i", work_group[0], outer_tag="g.0", inner_tag="l.0")


def summed(arguments: dict[str, Any], term: str, **variant: Any) -> dict[str, Any]:
    """Return the output of :func:`term_sum`."""
    n, k = arguments["n"], arguments["k"]
    x = 1 + SCALE * (np.arange(n)[:, np.newaxis] + np.arange(k))
    return {"out": TERMS[term][1](x).sum(axis=1)}


def term_feature(term: str, dtype: str, **variant: object) -> str:
    """Name of the feature that such a sum isolates."""
    return f"op_{dtype}_{term if term in ('div', 'mul') else 'special'}"
