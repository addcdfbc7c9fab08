"""Skinny tiled matrix product: n by m times m by l, with m the long side.

Stevens and Kloeckner, section 5.  The text has ``n = l = m/8`` and ``n = 2**(p+t)``.  The
printed times are only possible if ``2**(p+t)`` is m, so that here m = 2**(p+t) and n = l = m/8.
"""

from __future__ import annotations

from functools import partial

from perfmodel.kernels import KernelClass, Ladder
from perfmodel.kernels.builders.tiles import product, tiled_product

KERNEL = KernelClass(
    name="matmul_skinny",
    group="matmul",
    build=partial(tiled_product, "matmul_skinny"),
    sizes=Ladder(lambda e: ({"m": 2**e, "n": 2 ** (e - 3), "l": 2 ** (e - 3)},), start=9),
    reference=product,
    dimensions=2,
    tags=("paper", "local"),
)
