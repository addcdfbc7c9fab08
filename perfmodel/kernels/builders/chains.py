"""Chains of operations on private values: each step of a chain needs the result of the step before.

With several chains a work-item's operations may overlap, and the time is that of their throughput. With one
chain each operation waits for the one before, and the time is that of their latency.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

import loopy as lp
import numpy as np

from perfmodel.kernels.shapes import WorkGroup, assume

#: Chains of a work-item, by the form of the kernel.
CHAINS: Mapping[str, int] = MappingProxyType({"throughput": 8, "latency": 1})
#: The chains of neighbouring work-items start this far apart.
SCALE = 2.0**-13


def chain_steps(expressions: Sequence[str]) -> list[str]:
    """Statements that set ``acc[u]`` to each expression, one after another, the first one after ``first``.

    Examples
    --------
    >>> chain_steps(["acc[u] + p", "acc[u]*p"])
    ['acc[u] = acc[u] + p {id=s0, dep=first}', 'acc[u] = acc[u]*p {id=s1, dep=s0}']
    """
    before = ["first", *(f"s{place}" for place in range(len(expressions)))]
    return [f"acc[u] = {step} {{id=s{place}, dep={before[place]}}}" for place, step in enumerate(expressions)]


def chain_kernel(
    expressions: Sequence[str], form: str, dtype: str, scalars: Iterable[str], name: str, work_group: WorkGroup
) -> lp.TranslationUnit:
    """Work-item (i, j) runs the steps k times and stores the sum of its chains.

    The steps are `expressions` in ``acc[u]`` and the scalars, which are the floating-point arguments, ``scale``
    among them; `form` is a key of :data:`CHAINS`.
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
