"""Symmetric rank-k update of an n by n matrix: c = alpha a a^T + beta c, with n by m numbers a.

The PolyBench/GPU kernel of this name, which computes both triangles.  Groups have `width` by `height` work-items;
each forms `columns` neighbouring elements.  With `prefetch` a group keeps tiles of both factors in local memory; with
`layout` "columns" a is stored column by column, so that neighbouring lanes read neighbouring cells.
"""

from __future__ import annotations

from typing import Any

import loopy as lp
import numpy as np

from perfmodel.kernels import KernelClass, Ladder

TILE = 16
LAYOUTS = {"rows": "N1,N0", "columns": "N0,N1"}


def build(
    width: int = 16, height: int = 16, layout: str = "rows", prefetch: bool = False, columns: int = 1
) -> lp.TranslationUnit:
    t_unit = lp.make_kernel(
        "{[i, j, k]: 0 <= i, j < n and 0 <= k < m}",
        """
        left(r, s) := a[r, s]
        right(s, r) := a[r, s]
        c[i, j] = alpha*sum(k, left(i, k)*right(k, j)) + beta*c[i, j]
        """,
        [
            lp.GlobalArg("a", np.float32, shape="n, m", dim_tags=LAYOUTS[layout]),
            lp.GlobalArg("c", np.float32, shape="n, n"),
            lp.ValueArg("alpha, beta", np.float32),
            lp.ValueArg("n, m", np.int32),
        ],
        assumptions=f"n >= 1 and n mod {max(width * columns, height)} = 0 and m >= 1 and m mod {TILE} = 0",
        name="syrk",
        lang_version=(2018, 2),
        silenced_warnings=["v1_scheduler_fallback"],
    )
    t_unit = lp.split_iname(t_unit, "i", height, inner_iname="i_in", outer_tag="g.1", inner_tag="l.1")
    t_unit = lp.split_iname(t_unit, "j", width * columns, inner_iname="j_in", outer_tag="g.0")
    if prefetch:
        t_unit = lp.split_iname(t_unit, "k", TILE, inner_iname="k_in")
        for rule, axes in (("left", "ik"), ("right", "kj")):
            t_unit = lp.precompute(
                t_unit,
                rule,
                [f"{axis}_in" for axis in axes],
                precompute_inames=[f"{rule}_{axis}" for axis in axes],
                precompute_outer_inames=frozenset({"i_outer", "j_outer", "k_outer"}),
                temporary_name=f"{rule}_tile",
                default_tag=None,
            )
            # neighbouring lanes read neighbouring cells of a row
            t_unit = lp.tag_inames(t_unit, {f"{rule}_{axis}": "l.0" if axis == "k" else "l.1" for axis in axes})
        t_unit = lp.prioritize_loops(t_unit, "k_outer, k_in")
    if columns == 1:
        return lp.tag_inames(t_unit, "j_in:l.0")
    return lp.split_iname(t_unit, "j_in", columns, inner_tag="ilp.unr", outer_tag="l.0")


def reference(arguments: dict[str, Any], **variant: Any) -> dict[str, Any]:
    a = arguments["a"].astype(float)
    return {"c": arguments["alpha"] * (a @ a.T) + arguments["beta"] * arguments["c"]}


KERNEL = KernelClass(
    name="syrk",
    group="syrk",
    build=build,
    variants=(
        {},
        {"prefetch": True},
        {"width": 64, "height": 4},
        {"layout": "columns"},
        {"layout": "columns", "columns": 4},
    ),
    sizes=Ladder(lambda e: ({"n": 2**e, "m": 2 ** (e - 3)},), start=7, rungs=3),
    reference=reference,
    scalars=lambda **_: {"alpha": 1.5, "beta": 0.75},
    tags=("suites", "seen"),
    ranked=True,
)
