"""The Euclidean norm of each row of an n by k matrix.

A reduction as in SHOC, for many rows at once.  In "item" each work-item sums a row; `layout` "columns" stores the
matrix column by column, so that neighbouring lanes read neighbouring cells, and the loop is unrolled `unroll`
times.  In "group" the work-items of a group share a row and add up their sums in local memory by a tree.
"""

from __future__ import annotations

from typing import Any

import loopy as lp
import numpy as np

from perfmodel.kernels import KernelClass, Ladder

LAYOUTS = {"rows": "N1,N0", "columns": "N0,N1"}
LARGEST = 256


def build(form: str = "item", width: int = 256, layout: str = "rows", unroll: int = 1) -> lp.TranslationUnit:
    rows = f"n >= 1 and n mod {width if form == 'item' else 1} = 0"
    t_unit = lp.make_kernel(
        "{[i, j]: 0 <= i < n and 0 <= j < k}",
        "norm[i] = sqrt(sum(j, a[i, j]*a[i, j]))",
        [
            lp.GlobalArg("a", np.float32, shape="n, k", dim_tags=LAYOUTS[layout]),
            lp.GlobalArg("norm", np.float32, shape="n"),
            lp.ValueArg("n, k", np.int32),
        ],
        assumptions=f"{rows} and k >= {LARGEST} and k mod {LARGEST} = 0",
        name="row_norms",
        silenced_warnings=[] if form == "item" else ["write_race(insn)"],
        lang_version=(2018, 2),
    )
    if form == "group":
        t_unit = lp.split_iname(t_unit, "j", width, inner_iname="j_in", inner_tag="l.0")
        t_unit = lp.split_reduction_inward(t_unit, "j_outer")
        return lp.tag_inames(t_unit, "i:g.0")
    t_unit = lp.split_iname(t_unit, "i", width, outer_tag="g.0", inner_tag="l.0")
    return lp.split_iname(t_unit, "j", unroll, inner_tag="unr") if unroll > 1 else t_unit


def reference(arguments: dict[str, Any], **variant: Any) -> dict[str, Any]:
    return {"norm": np.linalg.norm(arguments["a"].astype(float), axis=1)}


KERNEL = KernelClass(
    name="row_norms",
    group="sweeps",
    build=build,
    variants=(
        {},
        {"unroll": 4},
        {"layout": "columns"},
        {"form": "group"},
        {"form": "group", "width": 64},
    ),
    sizes=Ladder(lambda e: ({"n": 2**e, "k": 512},), start=10, rungs=3),
    reference=reference,
    tags=("suites", "seen"),
    ranked=True,
)
