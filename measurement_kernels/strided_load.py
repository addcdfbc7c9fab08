"""Loads with a lane stride that use a part, a half or all of the cells; one store for many loads.

Stevens and Kloeckner, section 2.1, whose amortised stride fractions these kernels separate: with
``offsets`` of ``stride`` neighbouring cells loaded, the utilisation is offsets/stride.
"""

from __future__ import annotations

from typing import Any

import loopy as lp
import numpy as np

from perfmodel.features import stride_class
from perfmodel.kernels import KernelClass, Ladder, WorkGroup

from ._memory import strided, strides_in_turn

#: Strides with the numbers of cells used, the most informative first.
USES = {2: (1, 2), 3: (1, 3, 2), 4: (1, 4, 2, 3), 8: (2, 8, 4, 6), 16: (4, 16), 32: (8, 32)}


def build(stride: int = 2, offsets: int = 1, work_group: WorkGroup = (256,)) -> lp.TranslationUnit:
    arrays = [
        lp.GlobalArg("a", np.float32, shape=f"{stride}, n, k", order="F"),
        lp.GlobalArg("out", np.float32, shape="n"),
    ]
    return strided("out[i] = sum((r, o), a[o, i, r])", arrays, offsets, f"load_stride{stride}_{offsets}", work_group)


def reference(arguments: dict[str, Any], offsets: int, **variant: Any) -> dict[str, Any]:
    return {"out": arguments["a"][:offsets].sum(axis=(0, 2))}


KERNEL = KernelClass(
    name="strided_load",
    group="strided",
    build=build,
    variants=strides_in_turn(USES),
    sizes=Ladder(lambda e: ({"n": 2**e, "k": 16},), start=10, step=2, rungs=3),
    reference=reference,
    dimensions=1,
    tags=("memory",),
    isolates=lambda stride, offsets, **_: f"global_load_32_{stride_class(stride, offsets, stride)}",
    doubles="k",
)
