"""Stride-3 access that leaves no gaps: sums of triples from a 3 by m column-major array.

Stevens and Kloeckner, section 4.1: each work-item adds up 256 triples; a group prefetches
elements i, i+3, i+6, ... of its tile, then the elements next to them.  The array
has only the 256*gsize columns that the paper's kernels access, so it is read through caches.
"""

from __future__ import annotations

from functools import partial

from perfmodel.kernels import KernelClass, Ladder

from ._memory import filled_stride, tile_sums

KERNEL = KernelClass(
    name="filled_stride3",
    group="filled",
    build=partial(filled_stride, 3),
    sizes=Ladder(lambda e: ({"n": 2**e},), start=9, step=3),
    reference=tile_sums,
    dimensions=1,
    tags=("paper", "memory"),
    doubles="n",
    isolates="global_load_32_stride3_3of3",
)
