"""A tile in local memory that every lane reads whole, with 1 to 32 operations for each load.

A work-item keeps `kept` private values over each barrier, in addition to its sum. The loop over the tile is unrolled
`unroll` times.
"""

from __future__ import annotations

from typing import Any

import loopy as lp
import numpy as np

from perfmodel.kernels import KernelClass, Ladder

from ._memory import end, stored


def build(
    operations: int = 2, unroll: int = 1, kept: int = 1, guarded: bool = False, width: int = 256
) -> lp.TranslationUnit:
    own, value = [f"own{v}" for v in range(kept)], "tile[t]"
    for step in range(operations - 1):
        value = f"({value} {'*+'[step % 2]} {own[step // 2 % kept]})"
    t_unit = lp.make_kernel(
        [
            f"{{[g, l]: 0 <= l < {width} and 0 <= {width}*g + l < {end('n', guarded)}}}",
            "{[block]: 0 <= block < k}",
            f"{{[c, t]: 0 <= c, t < {width}}}",
        ],
        [
            "for g",
            "for l",
            *(f"<> {name} = a[{v}, {width}*g + l]" for v, name in enumerate(own)),
            "acc = own0 {id=first}",
            "end",
            "for block",
            f"tile[c] = cells[{width}*block + c] {{id=fetch}}",
            f"for l, t\n acc = acc + {value} {{id=add, dep=fetch:first}}",
            "end\n end",
            f"for l\n out[{width}*g + l] = {' + '.join(('acc', *own))} {{dep=add}}",
            "end\n end",
        ],
        [
            lp.GlobalArg("a", np.float32, shape=f"{kept}, n"),
            lp.GlobalArg("cells", np.float32, shape=f"{width}*k"),
            lp.GlobalArg("out", np.float32, shape="n", is_input=None),
            lp.TemporaryVariable("tile", np.float32, shape=width, address_space=lp.AddressSpace.LOCAL),
            lp.TemporaryVariable("acc", np.float32, shape=()),
            lp.ValueArg("n, k", np.int32),
        ],
        assumptions=f"n >= 1 and n mod {width} = 0 and k >= 1",
        name=f"reuse_{operations}_{unroll}_{kept}",
        lang_version=(2018, 2),
    )
    t_unit = lp.tag_inames(lp.split_iname(t_unit, "t", unroll), "g:g.0, l:l.0, c:l.0, t_inner:unr")
    return lp.prioritize_loops(t_unit, "block, t_outer, t_inner")


def reference(
    arguments: dict[str, Any], operations: int, kept: int = 1, guarded: bool = False, **variant: Any
) -> dict[str, Any]:
    own = arguments["a"].astype(float)[:, :, np.newaxis]
    value = np.broadcast_to(arguments["cells"].astype(float), (arguments["n"], arguments["cells"].size))
    for step in range(operations - 1):
        with_own = own[step // 2 % kept]
        value = value + with_own if step % 2 else value * with_own
    sums = own[0, :, 0] + value.sum(axis=1) + own[:, :, 0].sum(axis=0)
    return {"out": stored(sums, arguments["out"], guarded)}


KERNEL = KernelClass(
    name="tile_reuse",
    group="reuse",
    build=build,
    variants=(
        {"operations": 1},
        {"operations": 8},
        {"operations": 32},
        {"operations": 8, "kept": 4},
        {"operations": 2, "unroll": 8},
        {"operations": 16, "unroll": 8, "kept": 2},
        {"operations": 4, "kept": 2, "width": 384},
        {"operations": 8, "guarded": True},
    ),
    sizes=Ladder(lambda e: ({"n": 3 * 2**e, "k": 4},), start=8, step=2, rungs=2),
    reference=reference,
    tags=("context", "local"),
    tolerance=1e-3,
)
