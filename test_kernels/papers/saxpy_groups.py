"""Saxpy at one size in work-groups of many sizes: the x axis of figures 4 to 8 of Wang and Lou (2017).

N, the warps that a multiprocessor runs at a time, grows with the work-group where the device, as a CPU, holds one
group at once; a GPU holds as many groups as fit.
"""

from __future__ import annotations

from perfmodel.kernels import KernelClass, Ladder
from test_kernels.papers.saxpy import saxpy_of, strided_saxpy

KERNEL = KernelClass(
    name="saxpy_groups",
    group="saxpy",
    build=strided_saxpy,
    variants=tuple({"stride": s, "group": g} for s in (1, 4, 8, 16) for g in (32, 64, 128, 256, 512, 1024)),
    sizes=Ladder(lambda e: ({"n": 2**e},), start=20, rungs=1),
    reference=saxpy_of,
    scalars=lambda **_: {"alpha": 2.5},
    tags=("papers", "strided", "overhead"),
)
