"""Skinny tiled matrix product: n by m times m by l, with m the long side.

Stevens and Kloeckner, section 5.  The text has ``n = l = m/8`` and ``n = 2**(p+t)``.  The
printed times are only possible if ``2**(p+t)`` is m, so that here m = 2**(p+t) and n = l = m/8.
The kernel is that of the measurement kernel ``matmul_tiled``, at other sizes.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from perfmodel.io import shipped
from perfmodel.kernels import Ladder
from perfmodel.kernels.files import execute

TILED = execute(shipped("measurement_kernels") / "matmul_tiled.py")

KERNEL = replace(
    TILED["KERNEL"],
    name="matmul_skinny",
    build=partial(TILED["tiled_product"], "matmul_skinny"),
    sizes=Ladder(lambda e: ({"m": 2**e, "n": 2 ** (e - 3), "l": 2 ** (e - 3)},), start=9),
)
