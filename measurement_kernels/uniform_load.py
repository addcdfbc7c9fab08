"""Loads of one element by all lanes (stride 0): each work-item sums the same array."""

from __future__ import annotations

from typing import Any

import loopy as lp
import numpy as np

from perfmodel.kernels import KernelClass, Ladder, WorkGroup, assume

TYPES = {"float32": np.float32, "float64": np.float64}


def build(dtype: str = "float32", work_group: WorkGroup = (256,)) -> lp.TranslationUnit:
    t_unit = lp.make_kernel(
        "{[i, r]: 0 <= i < n and 0 <= r < k}",
        "out[i] = sum(r, a[r])",
        [
            lp.GlobalArg("a", TYPES[dtype], shape="k"),
            lp.GlobalArg("out", TYPES[dtype], shape="n"),
            lp.ValueArg("n, k", np.int32),
        ],
        assumptions=assume(n=work_group, k=()),
        name=f"uniform_{dtype}",
        lang_version=(2018, 2),
    )
    return lp.split_iname(t_unit, "i", work_group[0], outer_tag="g.0", inner_tag="l.0")


def reference(arguments: dict[str, Any], **variant: Any) -> dict[str, Any]:
    return {"out": np.full(arguments["n"], arguments["a"].sum())}


KERNEL = KernelClass(
    name="uniform_load",
    group="uniform",
    build=build,
    variants=tuple({"dtype": dtype} for dtype in TYPES),
    sizes=Ladder(lambda e: ({"n": 2**e, "k": 256},), start=10, step=2, rungs=3),
    reference=reference,
    dimensions=1,
    tags=("memory",),
    isolates=lambda dtype, **_: f"global_load_{dtype[-2:]}_uniform",
    doubles="k",
)
