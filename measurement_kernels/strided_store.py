"""Stores with a lane stride, into a part, a half or all of the cells; nothing is loaded."""

from __future__ import annotations

from typing import Any

import loopy as lp
import numpy as np

from perfmodel.features import stride_class
from perfmodel.kernels import KernelClass, Ladder, WorkGroup

from ._memory import strided, strides_in_turn

#: Strides with the numbers of cells used, the most informative first.
USES = {2: (1, 2), 3: (1, 3, 2), 4: (1, 4, 2, 3), 8: (2, 8, 4, 6), 16: (4,), 32: (8,)}


def build(stride: int = 2, offsets: int = 1, work_group: WorkGroup = (256,)) -> lp.TranslationUnit:
    arguments = [
        lp.GlobalArg("out", np.float32, shape=f"{stride}, n, k", order="F", is_input=None),
        lp.ValueArg("value", np.float32),
    ]
    return strided("out[o, i, r] = value", arguments, offsets, f"store_stride{stride}_{offsets}", work_group)


def reference(arguments: dict[str, Any], offsets: int, **variant: Any) -> dict[str, Any]:
    out = arguments["out"].copy()
    out[:offsets] = arguments["value"]
    return {"out": out}


KERNEL = KernelClass(
    name="strided_store",
    group="strided",
    build=build,
    variants=strides_in_turn(USES),
    sizes=Ladder(lambda e: ({"n": 2**e, "k": 16},), start=10, step=2, rungs=3),
    reference=reference,
    dimensions=1,
    scalars=lambda **_: {"value": 1.25},
    tags=("memory",),
    isolates=lambda stride, offsets, **_: f"global_store_32_{stride_class(stride, offsets, stride)}",
    doubles="k",
)
