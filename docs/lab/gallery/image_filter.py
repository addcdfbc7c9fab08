"""A filter: a picture folded with 5 by 5 weights.

`loop` keeps the two loops over the weights, `unrolled` writes them out. `tile` loads the pixels of a work-group and
the rim around them into local memory.
"""

from __future__ import annotations

import loopy as lp
import numpy as np


def build(unrolled: bool, tile: bool = False) -> lp.TranslationUnit:
    t_unit = lp.make_kernel(
        "{[i, j, di, dj]: 0 <= i, j < n and 0 <= di, dj < 5}",
        "out[i, j] = sum([di, dj], weight[di, dj]*pixel[i + di, j + dj])",
        [
            lp.GlobalArg("pixel", np.float32, shape="n + 4, n + 4"), lp.GlobalArg("weight", np.float32, shape=(5, 5)),
            lp.GlobalArg("out", np.float32, shape="n, n"), lp.ValueArg("n", np.int32),
        ],
        assumptions="n >= 1 and n mod 16 = 0", lang_version=(2018, 2),
    )  # fmt: skip
    t_unit = lp.split_iname(t_unit, "i", 16, outer_tag="g.1", inner_tag="l.1")
    t_unit = lp.split_iname(t_unit, "j", 16, outer_tag="g.0", inner_tag="l.0")
    if tile:
        t_unit = lp.add_prefetch(t_unit, "pixel", ["i_inner", "j_inner", "di", "dj"], default_tag="l.auto")
    return lp.tag_inames(t_unit, {"di": "unr", "dj": "unr"}) if unrolled else t_unit


def variants() -> dict[str, lp.TranslationUnit]:
    return {"loop": build(unrolled=False), "unrolled": build(unrolled=True), "tile": build(unrolled=True, tile=True)}
