"""Loads of a tile with a halo of one cell into local memory, 16 to 64 cells wide and 1 or 4 rows for each work-item.

Few lanes load the halo, and their loops are guarded. Every output cell is a copy of one input cell, without arithmetic.
"""

from __future__ import annotations

from typing import Any

import loopy as lp

from perfmodel.kernels import KernelClass, Ladder

from ._memory import copied, tile_copy

#: Width and height of the work-group, and cells that each work-item stores.
SHAPES = ((16, 8, 1), (16, 8, 4), (32, 4, 1), (32, 12, 1), (64, 2, 1), (64, 2, 4))


def build(width: int = 16, height: int = 8, rows: int = 1, guarded: bool = False) -> lp.TranslationUnit:
    return tile_copy(f"halo_{width}_{height}_{rows}", width, height, rows, halo=1, guarded=guarded)


def reference(arguments: dict[str, Any], **variant: Any) -> dict[str, Any]:
    return copied(arguments, halo=1, **variant)


KERNEL = KernelClass(
    name="halo_tiles",
    group="tiles",
    build=build,
    variants=(
        *({"width": width, "height": height, "rows": rows} for width, height, rows in SHAPES),
        {"width": 32, "height": 4, "rows": 4, "guarded": True},
    ),
    sizes=Ladder(lambda e: ({"m": 3 * 2**e, "n": 2**e},), start=6, step=2, rungs=3),
    reference=reference,
    tags=("context", "local"),
)
