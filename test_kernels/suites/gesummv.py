"""Sum of two matrix-vector products: y = alpha A x + beta B x, with n by m matrices.

The PolyBench/GPU kernel of this name.  A work-item forms one element, in a group of `width`.  With `layout`
"columns" both matrices are stored column by column, so that neighbouring lanes read neighbouring cells.  With
`prefetch` a group keeps a block of x in local memory; the loop is unrolled `unroll` times.
"""

from __future__ import annotations

from typing import Any

import loopy as lp
import numpy as np

from perfmodel.kernels import KernelClass, Ladder

BLOCK = 64
LAYOUTS = {"rows": "N1,N0", "columns": "N0,N1"}


def build(layout: str = "rows", width: int = 256, prefetch: bool = False, unroll: int = 1) -> lp.TranslationUnit:
    t_unit = lp.make_kernel(
        "{[i, j]: 0 <= i < n and 0 <= j < m}",
        "y[i] = alpha*sum(j, a[i, j]*x[j]) + beta*sum(j, b[i, j]*x[j])",
        [
            lp.GlobalArg("a, b", np.float32, shape="n, m", dim_tags=LAYOUTS[layout]),
            lp.GlobalArg("x", np.float32, shape="m"),
            lp.GlobalArg("y", np.float32, shape="n"),
            lp.ValueArg("alpha, beta", np.float32),
            lp.ValueArg("n, m", np.int32),
        ],
        assumptions=f"n >= 1 and n mod {width} = 0 and m >= 1 and m mod {BLOCK} = 0",
        name="gesummv",
        lang_version=(2018, 2),
    )
    t_unit = lp.split_iname(t_unit, "i", width, outer_tag="g.0", inner_tag="l.0")
    if prefetch:
        t_unit = lp.split_iname(t_unit, "j", BLOCK, inner_iname="j_in")
        t_unit = lp.add_prefetch(
            t_unit,
            "x",
            ["j_in"],
            fetch_outer_inames=frozenset({"i_outer", "j_outer"}),
            temporary_name="x_block",
            default_tag="l.auto",
        )
        return lp.prioritize_loops(t_unit, "j_outer, j_in")
    return lp.split_iname(t_unit, "j", unroll, inner_tag="unr") if unroll > 1 else t_unit


def reference(arguments: dict[str, Any], **variant: Any) -> dict[str, Any]:
    a, b, x = (arguments[name].astype(float) for name in "abx")
    return {"y": arguments["alpha"] * (a @ x) + arguments["beta"] * (b @ x)}


KERNEL = KernelClass(
    name="gesummv",
    group="matvec",
    build=build,
    variants=(
        {},
        {"layout": "columns"},
        {"layout": "columns", "width": 64},
        {"width": 64, "prefetch": True},
        {"unroll": 4},
    ),
    sizes=Ladder(lambda e: ({"n": 2**e, "m": 512},), start=10, rungs=3),
    reference=reference,
    scalars=lambda **_: {"alpha": 1.5, "beta": 0.75},
    tags=("suites", "aside"),
    ranked=True,
)
