"""A DG operator: three derivative matrices applied to every element's nodes.

out[r, e, i] = sum over j of d[r, i, j] u[e, j], with 64 nodes an element. A work-group has 16 elements and 16 nodes.
`local u` and `local d` keep a tile of one operand in local memory; `elements` stores nodes with the elements side by
side, so that neighbouring work-items read neighbouring cells.
"""

from __future__ import annotations

import loopy as lp
import numpy as np


def build(tiled: str = "", layouts: tuple[str, str] = ("N1, N0", "N2, N1, N0")) -> lp.TranslationUnit:
    t_unit = lp.make_kernel(
        "{[r, e, i, j]: 0 <= r < 3 and 0 <= e < n and 0 <= i, j < 64}",
        "out[r, e, i] = sum(j, d[r, i, j]*u[e, j])",
        [
            lp.GlobalArg("d", np.float32, shape=(3, 64, 64)),
            lp.GlobalArg("u", np.float32, shape="n, 64", dim_tags=layouts[0]),
            lp.GlobalArg("out", np.float32, shape="3, n, 64", dim_tags=layouts[1]),
            lp.ValueArg("n", np.int32),
        ],
        assumptions="n >= 1 and n mod 16 = 0", lang_version=(2018, 2),
    )  # fmt: skip
    lanes, rows = ("i", "e") if layouts[0] == "N1, N0" else ("e", "i")
    t_unit = lp.split_iname(t_unit, lanes, 16, inner_iname=f"{lanes}_in", outer_tag="g.0", inner_tag="l.0")
    t_unit = lp.split_iname(t_unit, rows, 16, inner_iname=f"{rows}_in", outer_tag="g.1", inner_tag="l.1")
    t_unit = lp.split_iname(t_unit, "j", 16, inner_iname="j_in")
    if tiled:
        fetch = frozenset({"r", "e_outer", "i_outer", "j_outer"})
        swept = ["e_in", "j_in"] if tiled == "u" else ["i_in", "j_in"]
        t_unit = lp.add_prefetch(t_unit, tiled, swept, fetch_outer_inames=fetch, default_tag="l.auto")
    return lp.prioritize_loops(t_unit, "r, j_outer, j_in")


def variants() -> dict[str, lp.TranslationUnit]:
    return {
        "plain": build(), "local u": build("u"), "local d": build("d"),
        "elements": build(layouts=("N0, N1", "N2, N0, N1")),
    }  # fmt: skip
