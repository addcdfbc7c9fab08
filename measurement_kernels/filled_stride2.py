"""Stride-2 access that leaves no gaps: sums of pairs from a 2 by m column-major array.

Stevens and Kloeckner, section 4.1: each work-item adds up 256 pairs; a group prefetches
elements i, i+2, i+4, ... of its tile, then those beside them.  Of the array the paper's
kernels touch the 256*gsize columns that are held here, so that it is read through caches.
"""

from __future__ import annotations

from typing import Any

import loopy as lp
import numpy as np

from perfmodel.kernels import KernelClass, Ladder, WorkGroup, assume

STRIDE = 2
TILES = 256


def build(work_group: WorkGroup = (256,)) -> lp.TranslationUnit:
    (width,) = work_group
    terms = (f"a[{c}, {width}*k + lane]" for c in range(STRIDE))
    t_unit = lp.make_kernel(
        f"{{[g, lane, k]: 0 <= lane < {width} and 0 <= {width}*g + lane < n and 0 <= k < {TILES}}}",
        f"out[{width}*g + lane] = sum(k, {' + '.join(terms)})",
        [
            lp.GlobalArg("a", np.float32, shape=(STRIDE, TILES * width), order="F"),
            lp.GlobalArg("out", np.float32, shape="n"),
            lp.ValueArg("n", np.int32),
        ],
        assumptions=assume(n=work_group),
        name=f"filled_stride{STRIDE}",
        lang_version=(2018, 2),
    )
    t_unit = lp.tag_inames(t_unit, {"g": "g.0", "lane": "l.0"})
    t_unit = lp.add_prefetch(
        t_unit,
        "a",
        ["lane"],
        dim_arg_names=["part", "fetch_lane"],
        fetch_outer_inames=frozenset({"g", "k"}),
        temporary_name="a_tile",
        default_tag=None,
    )
    return lp.tag_inames(t_unit, {"part": "unr", "fetch_lane": "l.0"})


def reference(arguments: dict[str, Any], work_group: WorkGroup, **variant: Any) -> dict[str, Any]:
    (width,) = work_group
    sums = arguments["a"].sum(axis=0).reshape(TILES, width).sum(axis=0)
    return {"out": np.resize(sums, arguments["n"])}


KERNEL = KernelClass(
    name="filled_stride2",
    group="filled",
    build=build,
    sizes=Ladder(lambda e: ({"n": 2**e},), start=9, step=3),
    reference=reference,
    dimensions=1,
    tags=("paper", "memory"),
    doubles="n",
    isolates="global_load_32_stride2_2of2",
)
