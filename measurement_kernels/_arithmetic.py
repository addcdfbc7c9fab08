"""Arithmetic on private values, for several kernel classes: chains and independent terms.

One chain measures latency, because each operation waits for the one before. Several chains overlap, and so do terms
that depend on each other only in their sum. Overlapping work measures throughput.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import loopy as lp
import numpy as np

from perfmodel.kernels import WorkGroup, assume

#: Chains of a work-item, by the form of the kernel.
CHAINS: Mapping[str, int] = MappingProxyType({"throughput": 8, "latency": 1})
#: The chains and points of neighbouring work-items start at this distance, and so do successive points.
SCALE = 2.0**-13


def chain_steps(expressions: Sequence[str]) -> list[str]:
    """Return statements that set ``acc[u]`` to the expressions in turn, after the statement ``first``."""
    before = ["first", *(f"s{k}" for k in range(len(expressions)))]
    return [f"acc[u] = {step} {{id=s{k}, dep={before[k]}}}" for k, step in enumerate(expressions)]


def chain_kernel(
    expressions: Sequence[str], form: str, dtype: str, scalars: Iterable[str], name: str, work_group: WorkGroup
) -> lp.TranslationUnit:
    """Work-item (i, j) runs the steps k times and stores the sum of its chains.

    The steps are `expressions` in ``acc[u]`` and the floating-point arguments `scalars`, one of which is ``scale``.
    `form` is a key of :data:`CHAINS`.
    """
    chains = CHAINS[form]
    steps = chain_steps(expressions)
    t_unit = lp.make_kernel(
        ["{[i, j]: 0 <= i, j < n}", "{[step]: 0 <= step < k}", f"{{[a, u, z]: 0 <= a, u, z < {chains}}}"],
        [
            "for i, j",
            "for a",
            "<int32> index = j + a {id=index}",
            f"<{dtype}> lane = index {{id=lane, dep=index}}",
            "acc[a] = 1 + scale*lane {id=first, dep=lane}",
            "end",
            "for step, u", *steps, "end",
            f"out[i, j] = sum(z, acc[z]) {{dep=s{len(steps) - 1}}}",
            "end",
        ],
        [
            lp.GlobalArg("out", np.dtype(dtype), shape="n, n"),
            *(lp.ValueArg(scalar, np.dtype(dtype)) for scalar in scalars),
            lp.ValueArg("n, k", np.int32),
            lp.TemporaryVariable("acc", np.dtype(dtype), shape=(chains,)),
        ],
        assumptions=assume(n=work_group, k=()),
        name=name,
        lang_version=(2018, 2),
    )  # fmt: skip
    t_unit = lp.split_iname(t_unit, "i", work_group[1], outer_tag="g.1", inner_tag="l.1")
    t_unit = lp.split_iname(t_unit, "j", work_group[0], outer_tag="g.0", inner_tag="l.0")
    return lp.prioritize_loops(lp.tag_inames(t_unit, "a:unr, u:unr, z:unr"), "step, u")


#: The term at the point x, as Loopy and as NumPy write it.
TERMS: Mapping[str, tuple[str, Callable[..., Any]]] = MappingProxyType(
    {
        "rsqrt": ("rsqrt(x)", lambda x: x**-0.5), "sqrt": ("sqrt(x)", np.sqrt),
        "exp": ("exp(-1*x)", lambda x: np.exp(-x)), "div": ("1.5/x", lambda x: 1.5 / x),
        "mul": ("x*x*x*x*x", lambda x: x**5), "log": ("log(x)", np.log), "sin": ("sin(x)", np.sin),
        "cos": ("cos(x)", np.cos), "tanh": ("tanh(x)", np.tanh),
    }
)
TYPES = ("float32", "float64")


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
    """Return the feature that such a sum isolates."""
    return f"op_{dtype}_{term if term in ('div', 'mul') else 'special'}"
