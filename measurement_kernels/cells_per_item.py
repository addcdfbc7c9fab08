"""Copies without a loop in which each work-item copies 1 to 8 cells.

With `order` "items" the cells of a work-item are adjacent: the lane stride is their number, and every cell is used.
With "groups" they are a group's width apart, and neighbouring lanes access neighbouring cells.
"""

from __future__ import annotations

from typing import Any

import loopy as lp
import numpy as np

from perfmodel.kernels import KernelClass, Ladder

from ._memory import end, stored

WIDTH = 128


def build(cells: int = 4, order: str = "items", dtype: str = "float32", guarded: bool = False) -> lp.TranslationUnit:
    t_unit = lp.make_kernel(
        f"{{[i]: 0 <= i < {end('n', guarded)}}}",
        "out[i] = a[i]",
        [
            lp.GlobalArg("a", np.dtype(dtype), shape="n"),
            lp.GlobalArg("out", np.dtype(dtype), shape="n", is_input=None),
            lp.ValueArg("n", np.int32),
        ],
        assumptions=f"n >= 1 and n mod {WIDTH * cells} = 0",
        name=f"cells_{cells}_{order}_{dtype}",
        lang_version=(2018, 2),
    )
    t_unit = lp.split_iname(t_unit, "i", WIDTH * cells, inner_iname="cell", outer_tag="g.0")
    if order == "items":
        return lp.split_iname(t_unit, "cell", cells, inner_tag="unr", outer_tag="l.0")
    return lp.split_iname(t_unit, "cell", WIDTH, inner_tag="l.0", outer_tag="unr")


def reference(arguments: dict[str, Any], guarded: bool = False, **variant: Any) -> dict[str, Any]:
    return {"out": stored(arguments["a"], arguments["out"], guarded)}


KERNEL = KernelClass(
    name="cells_per_item",
    group="cells",
    build=build,
    variants=(
        *({"cells": cells, "order": order} for cells in (4, 8) for order in ("items", "groups")),
        {"cells": 2, "order": "items", "dtype": "float64"},
        {"cells": 4, "order": "groups", "guarded": True},
    ),
    sizes=Ladder(lambda e: ({"n": 2**e},), start=13, step=4, rungs=3),
    reference=reference,
    tags=("context", "memory"),
    doubles="n",
)
