"""Five-point finite differences of section 5 in Stevens and Kloeckner, in variants to choose among.

A group of `width` by `height` work-items computes a tile of width by height*`rows` points,
each work-item `rows` of them; with `prefetch` it reads a tile with a halo in local memory.
"""

from __future__ import annotations

import loopy as lp

from perfmodel.kernels import KernelClass, Ladder

from ._stencil import SOURCE, differences, differences_kernel, tiled_stencil


def build(prefetch: bool = False, width: int = 16, height: int = 16, rows: int = 1) -> lp.TranslationUnit:
    form = "prefetched" if prefetch else "direct"
    t_unit = differences_kernel(f"stencil_{form}", assumptions=f"n >= 1 and n mod {max(width, height * rows)} = 0")
    return tiled_stencil(t_unit, "u", width, height, rows, prefetch)


TILES = ({"width": 16, "height": 16}, {"width": 64, "height": 4}, {"width": 32, "height": 8, "rows": 4})

KERNEL = KernelClass(
    name="stencil_variants",
    group="stencil",
    build=build,
    variants=tuple({"prefetch": prefetch, **tile} for tile in TILES for prefetch in (False, True)),
    sizes=Ladder(lambda e: ({"n": 2**e},), start=9),
    reference=differences,
    scalars=lambda **_: {"source": SOURCE},
    tags=("ranking", "stencil"),
    ranked=True,
)
