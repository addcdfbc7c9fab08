"""y = a x + y with a stride in x, from few work-groups to many: section 3.2 and figures 4 to 8 of Wang and Lou (2017).

The guard i < n is the paper's; every work-item passes it. A stride of s lets a warp's load span s blocks of 128 bytes.
All strides are measured at the same numbers of work-groups, from one on, however short a run is. A rung has
numbers of all magnitudes, so that two rungs span the whole range.
"""

from __future__ import annotations

import loopy as lp

from perfmodel.kernels import KernelClass, Ladder
from perfmodel.kernels.builders.memory import saxpy_of, strided_saxpy

GROUP = 128
MAGNITUDES = (0, 4, 8, 12)


def build(stride: int) -> lp.TranslationUnit:
    return strided_saxpy(stride, GROUP)


KERNEL = KernelClass(
    name="saxpy",
    group="saxpy",
    build=build,
    variants=tuple({"stride": s} for s in (1, 4, 8, 16)),
    sizes=Ladder(lambda e: tuple({"n": GROUP * 2 ** (e + at)} for at in MAGNITUDES), start=0, rungs=4),
    reference=saxpy_of,
    scalars=lambda **_: {"alpha": 2.5},
    tags=("papers", "strided", "overhead"),
)
