"""Vector scale and add on every element, every other, or every third.

Stevens and Kloeckner, section 4.1: strides 1, 2 and 3.  Strides 2 and 3 leave gaps, so
that their accesses are of the classes 1of2 and 1of3.
"""

from __future__ import annotations

from typing import Any

import loopy as lp
import numpy as np

from perfmodel.kernels import KernelClass, Ladder, WorkGroup, assume


def build(stride: int = 1, work_group: WorkGroup = (256,)) -> lp.TranslationUnit:
    at = f"{stride}*i"
    t_unit = lp.make_kernel(
        "{[i]: 0 <= i < n}",
        f"out[{at}] = alpha*x[{at}] + beta*y[{at}]",
        [
            lp.GlobalArg("out, x, y", np.float32, shape=f"{stride}*n", is_input=None),
            lp.ValueArg("alpha, beta", np.float32),
            lp.ValueArg("n", np.int32),
        ],
        assumptions=assume(n=work_group),
        name=f"scale_add_{stride}",
        lang_version=(2018, 2),
    )
    return lp.split_iname(t_unit, "i", work_group[0], outer_tag="g.0", inner_tag="l.0")


def reference(arguments: dict[str, Any], stride: int, **variant: Any) -> dict[str, Any]:
    total = arguments["alpha"] * arguments["x"] + arguments["beta"] * arguments["y"]
    out = arguments["out"].copy()
    out[::stride] = total[::stride]
    return {"out": out}


KERNEL = KernelClass(
    name="scale_add",
    group="vector",
    build=build,
    variants=tuple({"stride": stride} for stride in (1, 2, 3)),
    sizes=Ladder(lambda e: ({"n": 2**e},), start=12, step=2),
    reference=reference,
    dimensions=1,
    scalars=lambda **_: {"alpha": 1.25, "beta": 0.75},
    tags=("paper", "memory"),
    doubles="n",
    isolates=lambda stride, **_: (
        "global_load_32_stride1" if stride == 1 else f"global_load_32_stride{stride}_1of{stride}"
    ),
)
