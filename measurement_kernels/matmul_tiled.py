"""Tiled matrix product c = a b, of shapes n by m and m by l, in four shapes.

Stevens and Kloeckner, section 4.1: tiles of both factors are prefetched to local memory.
"""

from __future__ import annotations

from functools import partial

from perfmodel.kernels import KernelClass, Ladder, Parameters
from perfmodel.kernels.builders.tiles import product, tiled_product


def shapes(e: int) -> tuple[Parameters, ...]:
    n, half = 2**e, 2 ** (e - 1)
    return (
        {"n": n, "m": n, "l": n},
        {"n": n, "m": n, "l": half},
        {"n": n, "m": half, "l": n},
        {"n": half, "m": n, "l": n},
    )


KERNEL = KernelClass(
    name="matmul_tiled",
    group="matmul",
    build=partial(tiled_product, "matmul_tiled"),
    sizes=Ladder(shapes, start=6),
    reference=product,
    dimensions=2,
    tags=("paper", "local"),
)
