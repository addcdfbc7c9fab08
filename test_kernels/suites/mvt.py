"""Two matrix-vector products with one matrix, one of them with its transpose: x1 = A y1 and x2 = A^T y2.

The kernel that PolyBench/GPU calls MVT.  Work-item i forms x1[i] from a row and x2[i] from a column, in one loop, or
in two with `loops` of 2.  With `prefetch` a group keeps a block of both vectors in local memory; the loop is unrolled
`unroll` times.
"""

from __future__ import annotations

from typing import Any

import loopy as lp
import numpy as np

from perfmodel.kernels import KernelClass, Ladder

BLOCK = 64


def build(
    loops: int = 1, width: int = 128, prefetch: bool = False, unroll: int = 1, dtype: str = "float64"
) -> lp.TranslationUnit:
    second, inames = ("j", "i, j") if loops == 1 else ("k", "i, j, k")
    t_unit = lp.make_kernel(
        f"{{[{inames}]: 0 <= {inames} < n}}",
        ["x1[i] = sum(j, a[i, j]*y1[j])", f"x2[i] = sum({second}, a[{second}, i]*y2[{second}])"],
        [
            lp.GlobalArg("a", np.dtype(dtype), shape="n, n"),
            lp.GlobalArg("y1, y2, x1, x2", np.dtype(dtype), shape="n"),
            lp.ValueArg("n", np.int32),
        ],
        assumptions=f"n >= 1 and n mod {max(width, BLOCK)} = 0",
        name="mvt",
        lang_version=(2018, 2),
    )
    t_unit = lp.split_iname(t_unit, "i", width, outer_tag="g.0", inner_tag="l.0")
    if prefetch:
        t_unit = lp.split_iname(t_unit, "j", BLOCK, inner_iname="j_in")
        for vector in ("y1", "y2"):
            t_unit = lp.add_prefetch(
                t_unit,
                vector,
                ["j_in"],
                fetch_outer_inames=frozenset({"i_outer", "j_outer"}),
                temporary_name=f"{vector}_block",
                default_tag="l.auto",
            )
        t_unit = lp.prioritize_loops(t_unit, "j_outer, j_in")
    if unroll > 1:
        t_unit = lp.split_iname(t_unit, "j", unroll, inner_tag="unr")
    return t_unit


def reference(arguments: dict[str, Any], **variant: Any) -> dict[str, Any]:
    a = arguments["a"]
    return {"x1": a @ arguments["y1"], "x2": a.T @ arguments["y2"]}


KERNEL = KernelClass(
    name="mvt",
    group="matvec",
    build=build,
    variants=tuple(
        {**form, "dtype": "float64"}
        for form in ({}, {"loops": 2}, {"width": 64}, {"width": 64, "prefetch": True}, {"unroll": 4})
    ),
    sizes=Ladder(lambda e: ({"n": 2**e},), start=9, rungs=3),
    reference=reference,
    tags=("suites", "seen"),
    ranked=True,
)
