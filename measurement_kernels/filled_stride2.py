"""Stride-2 access that leaves no gaps: sums of pairs from a 2 by m column-major array.

Stevens and Kloeckner, section 4.1: each work-item adds up 256 pairs; a group prefetches
elements i, i+2, i+4, ... of its tile, then the elements next to them.  The array
has only the 256*gsize columns that the paper's kernels access, so it is read through caches.
"""

from __future__ import annotations

from functools import partial

from perfmodel.kernels import KernelClass, Ladder

from ._memory import filled_stride, tile_sums

KERNEL = KernelClass(
    name="filled_stride2",
    group="filled",
    build=partial(filled_stride, 2),
    sizes=Ladder(lambda e: ({"n": 2**e},), start=9, step=3),
    reference=tile_sums,
    dimensions=1,
    tags=("paper", "memory"),
    doubles="n",
    isolates="global_load_32_stride2_2of2",
)
