"""Tiled matrix product c = a b, of shapes n by m and m by l, in four shapes.

Stevens and Kloeckner, section 4.1: tiles of both factors are prefetched to local memory.
"""

from __future__ import annotations

from functools import partial

import loopy as lp
import numpy as np

from perfmodel.kernels import KernelClass, Ladder, Parameters, WorkGroup, assume


def tiled_product(name: str, work_group: WorkGroup = (16, 16)) -> lp.TranslationUnit:
    """Form c (n by l) from a (n by m) and b, a tile of c in each work-group, in steps of the tile's width along k."""
    tile = work_group[0]
    t_unit = lp.make_kernel(
        "{[i, j, k]: 0 <= i < n and 0 <= j < l and 0 <= k < m}", "c[i, j] = sum(k, a[i, k]*b[k, j])",
        [
            lp.GlobalArg("a", np.float32, shape="n, m"), lp.GlobalArg("b", np.float32, shape="m, l"),
            lp.GlobalArg("c", np.float32, shape="n, l"), lp.ValueArg("n, m, l", np.int32),
        ],
        assumptions=assume(n=work_group, m=(tile,), l=work_group), name=name, lang_version=(2018, 2),
    )
    t_unit = lp.split_iname(t_unit, "i", work_group[1], outer_tag="g.1", inner_tag="l.1")
    t_unit = lp.split_iname(t_unit, "j", tile, outer_tag="g.0", inner_tag="l.0")
    t_unit = lp.split_iname(t_unit, "k", tile)
    for array, sweep in (("a", ["i_inner", "k_inner"]), ("b", ["k_inner", "j_inner"])):
        t_unit = lp.add_prefetch(
            t_unit, array, sweep, fetch_outer_inames=frozenset({"i_outer", "j_outer", "k_outer"}),
            temporary_name=f"{array}_tile", default_tag="l.auto",
        )
    return t_unit


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
    reference=lambda arguments, **_: {"c": arguments["a"] @ arguments["b"]},
    dimensions=2,
    tags=("paper", "local"),
)
