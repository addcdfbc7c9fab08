"""A reduction: the sum of each row of a matrix.

`item` sums a row with one work-item, so neighbouring lanes read neighbouring rows. `columns` does the same on a matrix
that is stored by columns. `group` sums a row with a work-group: each work-item its share, then a tree in local memory.
"""

from __future__ import annotations

import loopy as lp
import numpy as np


def build(by_columns: bool = False, group: bool = False) -> lp.TranslationUnit:
    t_unit = lp.make_kernel(
        "{[i, j]: 0 <= i, j < n}", "out[i] = sum(j, a[i, j])",
        [
            lp.GlobalArg("a", np.float32, shape="n, n", dim_tags="N0, N1" if by_columns else "N1, N0"),
            lp.GlobalArg("out", np.float32, shape="n"), lp.ValueArg("n", np.int32),
        ],
        assumptions="n >= 1 and n mod 64 = 0", lang_version=(2018, 2),
    )  # fmt: skip
    if group:
        t_unit = lp.split_reduction_inward(lp.split_iname(t_unit, "j", 64, inner_iname="lane"), "j_outer")
        return lp.tag_inames(t_unit, {"i": "g.0", "lane": "l.0"})
    return lp.split_iname(t_unit, "i", 64, outer_tag="g.0", inner_tag="l.0")


def variants() -> dict[str, lp.TranslationUnit]:
    return {"item": build(), "columns": build(by_columns=True), "group": build(group=True)}
