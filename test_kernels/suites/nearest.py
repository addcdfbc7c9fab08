"""Euclidean distances of n points to one target.

The first step of Rodinia's nearest neighbours.  `layout` stores the two coordinates of a point side by side, or each
coordinate in a separate row.  A work-item computes `cells` distances: neighbouring ones with `order` "items", else
at distances of `width`.
"""

from __future__ import annotations

from typing import Any

import loopy as lp
import numpy as np

from perfmodel.kernels import KernelClass, Ladder

LAYOUTS = {"places": "N1,N0", "coordinates": "N0,N1"}


def build(layout: str = "places", width: int = 256, cells: int = 1, order: str = "lanes") -> lp.TranslationUnit:
    t_unit = lp.make_kernel(
        "{[i]: 0 <= i < n}",
        """
        <> across = place[i, 0] - target_x
        <> along = place[i, 1] - target_y
        distance[i] = sqrt(across*across + along*along)
        """,
        [
            lp.GlobalArg("place", np.float32, shape="n, 2", dim_tags=LAYOUTS[layout]),
            lp.GlobalArg("distance", np.float32, shape="n"),
            lp.ValueArg("target_x, target_y", np.float32),
            lp.ValueArg("n", np.int32),
        ],
        assumptions=f"n >= 1 and n mod {width * cells} = 0",
        name="nearest",
        lang_version=(2018, 2),
    )
    t_unit = lp.split_iname(t_unit, "i", width * cells, inner_iname="cell", outer_tag="g.0")
    if order == "lanes":
        return lp.split_iname(t_unit, "cell", width, inner_tag="l.0", outer_tag="unr")
    return lp.split_iname(t_unit, "cell", cells, outer_tag="l.0", inner_tag="unr")


def reference(arguments: dict[str, Any], **variant: Any) -> dict[str, Any]:
    x, y = arguments["place"].astype(float).T
    return {"distance": np.hypot(x - arguments["target_x"], y - arguments["target_y"])}


KERNEL = KernelClass(
    name="nearest",
    group="distances",
    build=build,
    variants=(
        {},
        {"layout": "coordinates"},
        {"layout": "coordinates", "width": 64},
        {"layout": "coordinates", "cells": 4},
        {"cells": 4, "order": "items"},
    ),
    sizes=Ladder(lambda e: ({"n": 2**e},), start=18, step=2, rungs=3),
    reference=reference,
    scalars=lambda **_: {"target_x": 2.5, "target_y": 3.25},
    tags=("suites", "aside"),
    ranked=True,
)
