"""Copies through a tile in local memory, with 8 to 128 work-items along l.0.

A barrier separates the loads from the stores. The rows of both arrays are a power of two long; with `pad` the rows of
the input are 16 cells longer.
"""

from __future__ import annotations

import loopy as lp

from perfmodel.kernels import KernelClass, Ladder

from ._memory import copied, tile_copy

#: Width and height of the work-group.
SHAPES = ((8, 32), (16, 16), (32, 8), (128, 2), (128, 3))


def build(
    width: int = 8, height: int = 32, rows: int = 1, pad: int = 0, guarded: bool = False
) -> lp.TranslationUnit:
    return tile_copy(f"copy_{width}_{height}_{rows}", width, height, rows, pad=pad, guarded=guarded)


KERNEL = KernelClass(
    name="tile_copies",
    group="tiles",
    build=build,
    variants=(
        *({"width": width, "height": height} for width, height in SHAPES),
        {"width": 64, "height": 2, "rows": 4},
        {"width": 8, "height": 32, "pad": 16},
        {"width": 32, "height": 4, "guarded": True},
    ),
    sizes=Ladder(lambda e: ({"m": 3 * 2**e, "n": 2**e},), start=7, step=2, rungs=3),
    reference=copied,
    tags=("context", "local"),
)
