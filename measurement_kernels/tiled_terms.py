"""Functions of independent terms whose points lie in local memory: the tiled inner loop of N-body.

Like the class ``independent_terms``, but the points are prefetched to local memory.  The barriers alone change
the time: only in kernels with barriers does PoCL 3.1 make its loop over work-items the innermost loop, and
vectorise it.
"""

from __future__ import annotations

from typing import Any

import loopy as lp
import numpy as np

from perfmodel.kernels import KernelClass, Ladder, WorkGroup, assume

from ._arithmetic import TERMS, TYPES, term_feature

#: Terms to measure.
MEASURED = ("rsqrt", "mul", "div", "exp")


def build(term: str = "rsqrt", dtype: str = "float32", work_group: WorkGroup = (256,)) -> lp.TranslationUnit:
    (width,) = work_group
    t_unit = lp.make_kernel(
        "{[i, j]: 0 <= i < n and 0 <= j < k}",
        f"""
        there(q) := b[q]
        for i
            <> here = a[i] {{id=here}}
            for j
                <> x = here + there(j) {{id=x, dep=here}}
            end
            out[i] = sum(j, {TERMS[term][0]}) {{dep=x}}
        end
        """,
        [
            lp.GlobalArg("a, out", np.dtype(dtype), shape="n"),
            lp.GlobalArg("b", np.dtype(dtype), shape="k"),
            lp.ValueArg("n, k", np.int32),
        ],
        assumptions=assume(n=work_group, k=work_group),
        name=f"{term}_{dtype}_tile",
        lang_version=(2018, 2),
    )
    t_unit = lp.split_iname(t_unit, "i", width, outer_tag="g.0", inner_tag="l.0")
    t_unit = lp.prioritize_loops(lp.split_iname(t_unit, "j", width), "j_outer, j_inner")
    return lp.precompute(
        t_unit,
        "there",
        ["j_inner"],
        precompute_inames=["lane"],
        precompute_outer_inames=frozenset({"i_outer", "j_outer"}),
        temporary_name="tile",
        default_tag="l.0",
    )


def reference(arguments: dict[str, Any], term: str, **variant: Any) -> dict[str, Any]:
    x = arguments["a"].astype(float)[:, np.newaxis] + arguments["b"]
    return {"out": TERMS[term][1](x).sum(axis=1)}


KERNEL = KernelClass(
    name="tiled_terms",
    group="arithmetic",
    build=build,
    variants=tuple({"term": term, "dtype": dtype} for term in MEASURED for dtype in TYPES),
    sizes=Ladder(lambda e: ({"n": 2**e, "k": 1024},), start=8, step=2, rungs=3),
    reference=reference,
    dimensions=1,
    tags=("arithmetic", "local"),
    isolates=term_feature,
    doubles="k",
    tolerance=1e-3,
)
