"""Two to sixteen sums of a work-item over tiles in local memory, which it keeps from one barrier to the next.

Each value of the tile is loaded once and added to all sums, each time multiplied by a private value of the work-item.
The loop over the tile is unrolled `unroll` times.
"""

from __future__ import annotations

from typing import Any

import loopy as lp
import numpy as np

from perfmodel.kernels import KernelClass, Ladder

WIDTH = 128
"""Work-items of a group, and values of a tile."""


def build(sums: int = 4, unroll: int = 1, dtype: str = "float32") -> lp.TranslationUnit:
    own, partial = [f"own{v}" for v in range(sums)], [f"sum{v}" for v in range(sums)]
    real = np.dtype(dtype)
    t_unit = lp.make_kernel(
        [
            f"{{[g, l]: 0 <= l < {WIDTH} and 0 <= {WIDTH}*g + l < n}}",
            "{[block]: 0 <= block < k}",
            f"{{[c, t]: 0 <= c, t < {WIDTH}}}",
        ],
        [
            "for g",
            "for l",
            *(f"<> {name} = a[{v}, {WIDTH}*g + l]" for v, name in enumerate(own)),
            *(f"{name} = {own[v]} {{id=first{v}}}" for v, name in enumerate(partial)),
            "end",
            "for block",
            f"tile[c] = cells[{WIDTH}*block + c] {{id=fetch}}",
            "for l, t",
            "<> value = tile[t] {id=read, dep=fetch}",
            *(
                f"{name} = {name} + value*{own[v]} {{id=add{v}, dep=read:first{v}}}"
                for v, name in enumerate(partial)
            ),
            "end",
            "end",
            f"for l\n out[{WIDTH}*g + l] = {' + '.join(partial)} {{dep=add*}}",
            "end\n end",
        ],
        [
            lp.GlobalArg("a", real, shape=f"{sums}, n"),
            lp.GlobalArg("cells", real, shape=f"{WIDTH}*k"),
            lp.GlobalArg("out", real, shape="n", is_input=None),
            lp.TemporaryVariable("tile", real, shape=WIDTH, address_space=lp.AddressSpace.LOCAL),
            *(lp.TemporaryVariable(name, real, shape=()) for name in partial),
            lp.ValueArg("n, k", np.int32),
        ],
        assumptions=f"n >= 1 and n mod {WIDTH} = 0 and k >= 1",
        name=f"sums_{sums}_{unroll}",
        lang_version=(2018, 2),
    )
    t_unit = lp.tag_inames(lp.split_iname(t_unit, "t", unroll), "g:g.0, l:l.0, c:l.0, t_inner:unr")
    return lp.prioritize_loops(t_unit, "block, t_outer, t_inner")


def reference(arguments: dict[str, Any], **variant: Any) -> dict[str, Any]:
    own = arguments["a"].astype(float).sum(axis=0)
    return {"out": own * (1 + arguments["cells"].astype(float).sum())}


KERNEL = KernelClass(
    name="tile_sums",
    group="sums",
    build=build,
    variants=(
        {"sums": 2},
        {"sums": 4, "unroll": 8},
        {"sums": 8},
        {"sums": 16, "unroll": 4},
        {"sums": 4, "dtype": "float64"},
    ),
    sizes=Ladder(lambda e: ({"n": 2**e, "k": 8},), start=9, step=2, rungs=3),
    reference=reference,
    tags=("context", "local"),
    tolerance=1e-3,
)
