"""Inner loops of 3, 7 and 16 trips, each entered k times by every work-item.

The loop sums a short table, each entry times a number of the work-item. The table is in global memory; with `local` it
is first copied to local memory, and a barrier follows.
"""

from __future__ import annotations

from typing import Any

import loopy as lp
import numpy as np

from perfmodel.kernels import KernelClass, Ladder

from ._memory import end, stored

WIDTH = 128


def build(trips: int = 3, local: bool = False, guarded: bool = False) -> lp.TranslationUnit:
    tile = lp.TemporaryVariable("tile", np.float32, shape=trips, address_space=lp.AddressSpace.LOCAL)
    cell, order = f"{WIDTH}*g + l", " {dep=fetch}" * local
    t_unit = lp.make_kernel(
        [
            f"{{[g, l]: 0 <= l < {WIDTH} and 0 <= {WIDTH}*g + l < {end('n', guarded)}}}",
            "{[r]: 0 <= r < k}",
            f"{{[{'c, ' * local}t]: 0 <= {'c, ' * local}t < {trips}}}",
        ],
        [
            "for g",
            *(["tile[c] = table[c] {id=fetch}"] if local else []),
            f"out[r, {cell}] = sum(t, a[r, {cell}]*{'tile' if local else 'table'}[t]){order}",
            "end",
        ],
        [
            lp.GlobalArg("a", np.float32, shape="k, n"),
            lp.GlobalArg("out", np.float32, shape="k, n", is_input=None),
            lp.GlobalArg("table", np.float32, shape=trips),
            *([tile] if local else []),
            lp.ValueArg("n, k", np.int32),
        ],
        assumptions=f"n >= 1 and n mod {WIDTH} = 0 and k >= 1",
        name=f"trips_{trips}",
        lang_version=(2018, 2),
    )
    t_unit = lp.tag_inames(t_unit, f"g:g.0, l:l.0{', c:l.0' * local}")
    return lp.prioritize_loops(t_unit, "r, t")


def reference(arguments: dict[str, Any], guarded: bool = False, **variant: Any) -> dict[str, Any]:
    sums = arguments["a"] * arguments["table"].sum(dtype=float)
    return {"out": stored(sums, arguments["out"], guarded)}


KERNEL = KernelClass(
    name="short_loops",
    group="trips",
    build=build,
    variants=(
        *({"trips": trips, **more} for more in ({}, {"local": True}) for trips in (3, 7, 16)),
        {"trips": 7, "guarded": True},
        {"trips": 7, "local": True, "guarded": True},
    ),
    sizes=Ladder(lambda e: ({"n": 2**e, "k": 16},), start=9, step=2, rungs=3),
    reference=reference,
    tags=("context", "arithmetic"),
)
