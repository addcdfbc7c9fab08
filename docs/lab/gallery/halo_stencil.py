"""A stencil with halos: five points on a grid with a rim of one cell.

Each step reads a cell and its four neighbours. `plain` reads them from global memory; `halo tile` loads the cells of a
work-group and the halo around them into local memory first, and waits at a barrier.
"""

from __future__ import annotations

import loopy as lp
import numpy as np


def build(tile: bool) -> lp.TranslationUnit:
    t_unit = lp.make_kernel(
        "{[i, j]: 0 <= i, j < n}",
        "out[i, j] = 0.5*u[i + 1, j + 1] + 0.125*(u[i, j + 1] + u[i + 2, j + 1] + u[i + 1, j] + u[i + 1, j + 2])",
        [
            lp.GlobalArg("u", np.float32, shape="n + 2, n + 2"), lp.GlobalArg("out", np.float32, shape="n, n"),
            lp.ValueArg("n", np.int32),
        ],
        assumptions="n >= 1 and n mod 16 = 0", lang_version=(2018, 2),
    )  # fmt: skip
    t_unit = lp.split_iname(t_unit, "i", 16, outer_tag="g.1", inner_tag="l.1")
    t_unit = lp.split_iname(t_unit, "j", 16, outer_tag="g.0", inner_tag="l.0")
    return lp.add_prefetch(t_unit, "u", ["i_inner", "j_inner"], default_tag="l.auto") if tile else t_unit


def variants() -> dict[str, lp.TranslationUnit]:
    return {"plain": build(tile=False), "halo tile": build(tile=True)}
