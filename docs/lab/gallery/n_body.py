"""An N-body step: the potential at n targets in the field of n sources.

`plain` reads the sources from global memory, all lanes the same one. `local` loads 256 of them into local memory at a
time, between two barriers.
"""

from __future__ import annotations

import loopy as lp
import numpy as np

SQUARES = " + ".join(f"(target[{axis}, i] - source[{axis}, j])**2" for axis in range(3))


def build(local: bool) -> lp.TranslationUnit:
    t_unit = lp.make_kernel(
        "{[i, j]: 0 <= i, j < n}", f"out[i] = sum(j, rsqrt({SQUARES} + 1.0e-6f))",
        [
            lp.GlobalArg("target, source", np.float32, shape="3, n"), lp.GlobalArg("out", np.float32, shape="n"),
            lp.ValueArg("n", np.int32),
        ],
        assumptions="n >= 1 and n mod 256 = 0", lang_version=(2018, 2),
    )  # fmt: skip
    t_unit = lp.split_iname(t_unit, "i", 256, outer_tag="g.0", inner_tag="l.0")
    t_unit = lp.split_iname(t_unit, "j", 256)
    if local:
        outer = frozenset({"i_outer", "j_outer"})
        t_unit = lp.add_prefetch(t_unit, "source", ["j_inner"], fetch_outer_inames=outer, default_tag="l.auto")
    return lp.prioritize_loops(t_unit, "j_outer, j_inner")


def variants() -> dict[str, lp.TranslationUnit]:
    return {"plain": build(local=False), "local": build(local=True)}
