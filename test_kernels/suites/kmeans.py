"""For each of n points the squared distance to the nearest of 8 centres, in 16 dimensions.

The assignment step of k-means clustering, as in Rodinia.  Points are stored one after the other or, with `layout`
"features", feature by feature.  With `prefetch` a group keeps the centres in local memory; with `held` a work-item
keeps its point in private memory; with `unroll` the loop over features is unrolled.
"""

from __future__ import annotations

from typing import Any

import loopy as lp
import numpy as np

from perfmodel.kernels import KernelClass, Ladder

CENTRES, FEATURES = 8, 16
LAYOUTS = {"points": "N1,N0", "features": "N0,N1"}


def build(
    layout: str = "points", width: int = 256, prefetch: bool = False, held: bool = False, unroll: bool = False
) -> lp.TranslationUnit:
    t_unit = lp.make_kernel(
        f"{{[i, c, f]: 0 <= i < n and 0 <= c < {CENTRES} and 0 <= f < {FEATURES}}}",
        "nearest[i] = min(c, sum(f, (point[i, f] - centre[c, f])*(point[i, f] - centre[c, f])))",
        [
            lp.GlobalArg("point", np.float32, shape=f"n, {FEATURES}", dim_tags=LAYOUTS[layout]),
            lp.GlobalArg("centre", np.float32, shape=(CENTRES, FEATURES)),
            lp.GlobalArg("nearest", np.float32, shape="n"),
            lp.ValueArg("n", np.int32),
        ],
        assumptions=f"n >= 1 and n mod {width} = 0",
        name="kmeans",
        lang_version=(2018, 2),
    )
    t_unit = lp.split_iname(t_unit, "i", width, outer_tag="g.0", inner_tag="l.0")
    if prefetch:
        t_unit = lp.add_prefetch(
            t_unit, "centre", ["c", "f"], fetch_outer_inames=frozenset({"i_outer"}), default_tag="l.auto"
        )
    if held:
        t_unit = lp.add_prefetch(
            t_unit,
            "point",
            ["f"],
            fetch_outer_inames=frozenset({"i_outer", "i_inner"}),
            temporary_address_space=lp.AddressSpace.PRIVATE,
            default_tag="unr",
        )
    return lp.tag_inames(t_unit, "f:unr") if unroll else t_unit


def reference(arguments: dict[str, Any], **variant: Any) -> dict[str, Any]:
    point, centre = arguments["point"].astype(float), arguments["centre"].astype(float)
    return {"nearest": ((point[:, np.newaxis] - centre) ** 2).sum(axis=2).min(axis=1)}


KERNEL = KernelClass(
    name="kmeans",
    group="clusters",
    build=build,
    variants=(
        {},
        {"layout": "features"},
        {"layout": "features", "width": 64, "prefetch": True},
        {"layout": "features", "unroll": True},
        {"held": True, "unroll": True},
    ),
    sizes=Ladder(lambda e: ({"n": 2**e},), start=13, rungs=3),
    reference=reference,
    tags=("suites", "seen"),
    ranked=True,
)
