"""Matrix product c = a b as a library forms it (MAGMA; Karsin 2018, chapter 5): tiles in local memory and in registers.

A work-group of b work-items forms a tile of c with `tile` (N_TB) rows and columns. In each step it stages `tile` by
`depth` (lambda) elements of a, and as many of b, in local memory; each work-item adds the products to tile^2/b partial
sums in registers. n, m and k are sizes of their own, so that the time can be looked at against k alone.

`group` is the work-group's width and height. With `wide` its work-items are grouped anew to load, as MAGMA does: a
warp of 32 reads 32 neighbouring elements, where a row of the factor's tile has as many. One variant has a work-item for
each element of its tile: a group too large for common devices, which is recorded as such.
"""

from __future__ import annotations

import loopy as lp
import numpy as np

from perfmodel.kernels import KernelClass, Ladder
from perfmodel.kernels.builders.tiles import product, register_tiled_product

SIDE = 384  # a multiple of every tile
LENGTHS = (64, 128, 256, 512)  # k


def build(tile: int, depth: int, group: tuple[int, int], wide: int = 0) -> lp.TranslationUnit:
    width, height = group
    t_unit = lp.make_kernel(
        "{[i, j, k]: 0 <= i < n and 0 <= j < m and 0 <= k < k_size}",
        "c[i, j] = sum(k, a[i, k]*b[k, j])",
        [
            lp.GlobalArg("a", np.float32, shape="n, k_size"),
            lp.GlobalArg("b", np.float32, shape="k_size, m"),
            lp.GlobalArg("c", np.float32, shape="n, m"),
            lp.ValueArg("n, m, k_size", np.int32),
        ],
        assumptions=" and ".join(
            f"{size} >= {unit} and {size} mod {unit} = 0"
            for size, unit in (("n", tile), ("m", tile), ("k_size", depth))
        ),
        name="gemm",
        lang_version=(2018, 2),
        silenced_warnings=["v1_scheduler_fallback"],
    )
    rows, columns = tile // height, tile // width
    t_unit = register_tiled_product(t_unit, width, height, rows, columns, depth, compact=True, wide=wide)
    return lp.rename_argument(t_unit, "k_size", "k")


KERNEL = KernelClass(
    name="gemm",
    group="matmul",
    build=build,
    variants=(
        *(
            {"tile": tile, "depth": depth, "group": group}
            for depth, group, tiles in (
                (16, (16, 16), (96, 16, 32, 48, 64, 128, 192)),  # 96 is MAGMA's
                (16, (96, 96), (96,)),  # one element a work-item
                (8, (16, 16), (32, 64, 128)),
                (32, (16, 16), (64, 96)),
                (16, (16, 8), (32, 64)),
                (16, (8, 8), (32, 64, 96)),
                (8, (8, 8), (32, 64)),
            )
            for tile in tiles
        ),
        *({"tile": tile, "depth": depth, "group": (16, 16), "wide": 32} for tile, depth in ((96, 16), (64, 32))),
    ),
    sizes=Ladder(
        lambda e: tuple({"n": SIDE * 2**e, "m": SIDE * 2**e, "k": k} for k in LENGTHS), start=0, rungs=3
    ),
    reference=product,
    tags=("papers", "ranking", "local"),
    ranked=True,
)
