"""A GEMM: the product of two square matrices.

`plain` gives each work-item one cell of the result and reads both operands from global memory. `tiles` loads tiles of
16 by 16 of both into local memory, between two barriers each. `wide` gives each work-item four neighbouring cells.
"""

from __future__ import annotations

import loopy as lp
import numpy as np


def build(tiles: bool = False, cells: int = 1) -> lp.TranslationUnit:
    t_unit = lp.make_kernel(
        "{[i, j, k]: 0 <= i, j, k < n}", "c[i, j] = sum(k, a[i, k]*b[k, j])",
        [lp.GlobalArg("a, b, c", np.float32, shape="n, n"), lp.ValueArg("n", np.int32)],
        assumptions="n >= 1 and n mod 64 = 0", lang_version=(2018, 2),
    )  # fmt: skip
    if cells > 1:
        t_unit = lp.split_iname(t_unit, "j", cells, inner_iname="cell", outer_iname="column", inner_tag="ilp")
        t_unit = lp.rename_iname(t_unit, "column", "j")
    t_unit = lp.split_iname(t_unit, "i", 16, outer_tag="g.1", inner_tag="l.1")
    t_unit = lp.split_iname(t_unit, "j", 16, outer_tag="g.0", inner_tag="l.0")
    t_unit = lp.split_iname(t_unit, "k", 16)
    if tiles:
        outer = frozenset({"i_outer", "j_outer", "k_outer"})
        t_unit = lp.add_prefetch(t_unit, "a", ["i_inner", "k_inner"], fetch_outer_inames=outer, default_tag="l.auto")
        t_unit = lp.add_prefetch(t_unit, "b", ["k_inner", "j_inner"], fetch_outer_inames=outer, default_tag="l.auto")
    return lp.prioritize_loops(t_unit, "k_outer, k_inner")


def variants() -> dict[str, lp.TranslationUnit]:
    return {"plain": build(), "tiles": build(tiles=True), "wide": build(cells=4)}
