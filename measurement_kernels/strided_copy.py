"""Copies with a lane stride on both sides: loads and stores of one class, in equal number."""

from __future__ import annotations

from typing import Any

import loopy as lp
import numpy as np

from perfmodel.features import stride_class
from perfmodel.kernels import KernelClass, Ladder, WorkGroup

from ._memory import strided

#: Stride and number of its cells that are copied.
USES = ((2, 1), (3, 1), (4, 1), (8, 2), (2, 2), (3, 3), (4, 4), (8, 8), (3, 2), (4, 2), (8, 4), (4, 3), (8, 6))


def build(stride: int = 2, offsets: int = 1, work_group: WorkGroup = (256,)) -> lp.TranslationUnit:
    shape = f"{stride}, n, k"
    arrays = [
        lp.GlobalArg("a", np.float32, shape=shape, order="F"),
        lp.GlobalArg("out", np.float32, shape=shape, order="F", is_input=None),
    ]
    return strided("out[o, i, r] = a[o, i, r]", arrays, offsets, f"copy_stride{stride}_{offsets}", work_group)


def reference(arguments: dict[str, Any], offsets: int, **variant: Any) -> dict[str, Any]:
    out = arguments["out"].copy()
    out[:offsets] = arguments["a"][:offsets]
    return {"out": out}


KERNEL = KernelClass(
    name="strided_copy",
    group="strided",
    build=build,
    variants=tuple({"stride": stride, "offsets": offsets} for stride, offsets in USES),
    sizes=Ladder(lambda e: ({"n": 2**e, "k": 16},), start=10, step=2, rungs=3),
    reference=reference,
    dimensions=1,
    tags=("memory",),
    isolates=lambda stride, offsets, **_: f"global_minloadstore_32_{stride_class(stride, offsets, stride)}",
    doubles="k",
)
