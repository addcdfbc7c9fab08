"""y = a x + y with a stride in x, from few work-groups to many: section 3.2 and figures 4 to 8 of Wang and Lou (2017).

The paper has the guard i < n; every work-item passes it. A stride of s lets a warp's load span s blocks of 128 bytes.
All strides are measured at the same numbers of work-groups, from one on, however short a run is. A rung has
numbers of all magnitudes, so that two rungs span the whole range.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import loopy as lp
import numpy as np

from perfmodel.kernels import KernelClass, Ladder

GROUP = 128
MAGNITUDES = (0, 4, 8, 12)


def strided_saxpy(stride: int, group: int) -> lp.TranslationUnit:
    """Y = a x + y with a stride in x, in groups of a given size: section 3.2 of Wang and Lou (2017)."""
    t_unit = lp.make_kernel(
        "{[i]: 0 <= i < n}",
        f"y[i] = alpha*x[{stride}*i] + y[i]",
        [
            lp.GlobalArg("x", np.float32, shape=f"{stride}*n"),
            lp.GlobalArg("y", np.float32, shape="n"),
            lp.ValueArg("alpha", np.float32),
            lp.ValueArg("n", np.int32),
        ],
        assumptions="n >= 1",
        name="saxpy",
        lang_version=(2018, 2),
    )
    return lp.split_iname(t_unit, "i", group, outer_tag="g.0", inner_tag="l.0")


def saxpy_of(arguments: dict[str, Any], stride: int, **variant: Any) -> dict[str, Any]:
    return {"y": arguments["alpha"] * arguments["x"][::stride] + arguments["y"]}


KERNEL = KernelClass(
    name="saxpy",
    group="saxpy",
    build=partial(strided_saxpy, group=GROUP),
    variants=tuple({"stride": s} for s in (1, 4, 8, 16)),
    sizes=Ladder(lambda e: tuple({"n": GROUP * 2 ** (e + at)} for at in MAGNITUDES), start=0, rungs=4),
    reference=saxpy_of,
    scalars=lambda **_: {"alpha": 2.5},
    tags=("papers", "strided", "overhead"),
)
