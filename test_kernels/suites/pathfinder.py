"""Two steps of the cheapest way through a grid by rows: a cell's own cost plus the least of three cells before it.

The recurrence of Rodinia's PathFinder on n columns.  One launch does both steps: either each work-item computes again
the three cells that it needs from the middle row, or with `tile` a group keeps this row in local memory, where the
tiles of neighbouring groups overlap by two cells.  A work-item computes `cells` cells at distances of `width`.
"""

from __future__ import annotations

from typing import Any

import loopy as lp
import numpy as np

from perfmodel.kernels import KernelClass, Ladder


def build(tile: bool = False, width: int = 256, cells: int = 1) -> lp.TranslationUnit:
    t_unit = lp.make_kernel(
        "{[i]: 0 <= i < n}",
        """
        between(q) := price[0, q] + fmin(fmin(cost[q], cost[q + 1]), cost[q + 2])
        out[i] = price[1, i] + fmin(fmin(between(i), between(i + 1)), between(i + 2))
        """,
        [
            lp.GlobalArg("price", np.float32, shape="2, n + 2"),
            lp.GlobalArg("cost", np.float32, shape="n + 4"),
            lp.GlobalArg("out", np.float32, shape="n"),
            lp.ValueArg("n", np.int32),
        ],
        assumptions=f"n >= 1 and n mod {width * cells} = 0",
        name="pathfinder",
        lang_version=(2018, 2),
    )
    t_unit = lp.split_iname(t_unit, "i", width * cells, inner_iname="cell", outer_tag="g.0")
    if tile:
        t_unit = lp.precompute(
            t_unit,
            "between",
            ["cell"],
            precompute_inames=["place"],
            precompute_outer_inames=frozenset({"i_outer"}),
            temporary_name="row",
            default_tag=None,
        )
        t_unit = lp.split_iname(t_unit, "place", width, inner_tag="l.0")
    return lp.split_iname(t_unit, "cell", width, inner_tag="l.0", outer_tag="unr")


def reference(arguments: dict[str, Any], **variant: Any) -> dict[str, Any]:
    cost = arguments["cost"]
    for price in (arguments["price"][0], arguments["price"][1][:-2]):
        cost = price + np.minimum(np.minimum(cost[:-2], cost[1:-1]), cost[2:])
    return {"out": cost}


KERNEL = KernelClass(
    name="pathfinder",
    group="paths",
    build=build,
    variants=(
        {},
        {"width": 64},
        {"cells": 4},
        {"tile": True},
        {"tile": True, "cells": 4},
    ),
    sizes=Ladder(lambda e: ({"n": 2**e},), start=18, rungs=3),
    reference=reference,
    tags=("suites", "aside"),
    ranked=True,
)
