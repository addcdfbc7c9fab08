"""N-body: for each point the sum of inverse distances to all points, positions prefetched.

Stevens and Kloeckner, section 5 ("N-Body"): positions are a 3 by n column-major array that is
read in blocks of 3 by gsize.  A softening keeps a point's distance to itself from being zero.
"""

from __future__ import annotations

from typing import Any

import loopy as lp
import numpy as np

from perfmodel.kernels import KernelClass, Ladder, WorkGroup, assume


def build(work_group: WorkGroup = (256,)) -> lp.TranslationUnit:
    (width,) = work_group
    t_unit = lp.make_kernel(
        "{[i, j, c]: 0 <= i, j < n and 0 <= c < 3}",
        """
        here(p) := x[p, i]
        there(p, q) := x[p, q]
        distance2(q) := sum(c, (here(c) - there(c, q))*(here(c) - there(c, q)))
        potential[i] = sum(j, rsqrt(softening + distance2(j)))
        """,
        [
            lp.GlobalArg("x", np.float32, shape="3, n", order="F"),
            lp.GlobalArg("potential", np.float32, shape="n"),
            lp.ValueArg("softening", np.float32),
            lp.ValueArg("n", np.int32),
        ],
        assumptions=assume(n=work_group),
        name="nbody",
        lang_version=(2018, 2),
    )
    t_unit = lp.split_iname(t_unit, "i", width, outer_tag="g.0", inner_tag="l.0")
    t_unit = lp.prioritize_loops(lp.split_iname(t_unit, "j", width), "j_outer, j_inner")
    t_unit = lp.precompute(
        t_unit,
        "there",
        ["c", "j_inner"],
        precompute_inames=["part", "lane"],
        precompute_outer_inames=frozenset({"i_outer", "j_outer"}),
        temporary_name="x_tile",
        default_tag=None,
    )
    t_unit = lp.precompute(
        t_unit,
        "here",
        ["c"],
        precompute_inames=["axis"],
        precompute_outer_inames=frozenset({"i_outer", "i_inner"}),
        temporary_name="x_here",
        default_tag=None,
    )
    return lp.tag_inames(t_unit, "c:unr, part:unr, lane:l.0, axis:unr")


def reference(arguments: dict[str, Any], **variant: Any) -> dict[str, Any]:
    x = arguments["x"].astype(float)
    distance2 = ((x[:, :, np.newaxis] - x[:, np.newaxis, :]) ** 2).sum(axis=0)
    return {"potential": (1 / np.sqrt(arguments["softening"] + distance2)).sum(axis=1)}


KERNEL = KernelClass(
    name="nbody",
    group="nbody",
    build=build,
    sizes=Ladder(lambda e: ({"n": 2**e},), start=10),
    reference=reference,
    dimensions=1,
    scalars=lambda **_: {"softening": 0.5},
    tags=("paper", "local"),
)
