"""N-body of section 5 in Stevens and Kloeckner, in variants to choose among.

Positions come from global memory, or with `prefetch` from blocks of 3 by 256 in local memory;
`unroll` points are handled in each turn of the innermost loop.
"""

from __future__ import annotations

from typing import Any

import loopy as lp
import numpy as np

from perfmodel.kernels import KernelClass, Ladder

WIDTH = 256


def build(prefetch: bool = False, unroll: int = 1) -> lp.TranslationUnit:
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
        assumptions=f"n >= 1 and n mod {WIDTH} = 0",
        name=f"nbody_{'prefetched' if prefetch else 'direct'}_{unroll}",
        lang_version=(2018, 2),
    )
    t_unit = lp.split_iname(t_unit, "i", WIDTH, outer_tag="g.0", inner_tag="l.0")
    t_unit = lp.split_iname(t_unit, "j", WIDTH, inner_iname="j_in")
    if prefetch:
        t_unit = lp.precompute(
            t_unit,
            "there",
            ["c", "j_in"],
            precompute_inames=["part", "lane"],
            precompute_outer_inames=frozenset({"i_outer", "j_outer"}),
            temporary_name="x_tile",
            default_tag=None,
        )
        t_unit = lp.tag_inames(t_unit, "part:unr, lane:l.0")
    t_unit = lp.precompute(
        t_unit,
        "here",
        ["c"],
        precompute_inames=["axis"],
        precompute_outer_inames=frozenset({"i_outer", "i_inner"}),
        temporary_name="x_here",
        default_tag=None,
    )
    t_unit = lp.split_iname(t_unit, "j_in", unroll, outer_iname="turn", inner_tag="unr")
    return lp.prioritize_loops(lp.tag_inames(t_unit, "c:unr, axis:unr"), "j_outer, turn")


def reference(arguments: dict[str, Any], **variant: Any) -> dict[str, Any]:
    x = arguments["x"].astype(float)
    distance2 = ((x[:, :, np.newaxis] - x[:, np.newaxis, :]) ** 2).sum(axis=0)
    return {"potential": (1 / np.sqrt(arguments["softening"] + distance2)).sum(axis=1)}


KERNEL = KernelClass(
    name="nbody_variants",
    group="nbody",
    build=build,
    variants=tuple({"prefetch": prefetch, "unroll": unroll} for unroll in (1, 8) for prefetch in (False, True)),
    sizes=Ladder(lambda e: ({"n": 2**e},), start=10),
    reference=reference,
    scalars=lambda **_: {"softening": 0.5},
    tags=("ranking", "local"),
    ranked=True,
)
