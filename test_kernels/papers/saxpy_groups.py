"""Saxpy at one size in work-groups of many sizes: the x axis of figures 4 to 8 of Wang and Lou (2017).

N, the warps that a multiprocessor runs at a time, grows with the work-group where the device, as a CPU, holds one
group at once; a GPU holds as many groups as fit.
"""

from __future__ import annotations

import loopy as lp
import numpy as np

from perfmodel.kernels import KernelClass, Ladder


def build(stride: int, group: int) -> lp.TranslationUnit:
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


KERNEL = KernelClass(
    name="saxpy_groups",
    group="saxpy",
    build=build,
    variants=tuple({"stride": s, "group": g} for s in (1, 4, 8, 16) for g in (32, 64, 128, 256, 512, 1024)),
    sizes=Ladder(lambda e: ({"n": 2**e},), start=20, rungs=1),
    reference=lambda arguments, stride, **_: {"y": arguments["alpha"] * arguments["x"][::stride] + arguments["y"]},
    scalars=lambda **_: {"alpha": 2.5},
    tags=("papers", "strided", "overhead"),
)
