"""Five-point finite differences of section 5 in Stevens and Kloeckner, in variants to choose among.

A group of `width` by `height` work-items computes a tile of width by height*`rows` points,
each work-item `rows` of them; with `prefetch` from a tile with its halo in local memory.
"""

from __future__ import annotations

from typing import Any

import loopy as lp
import numpy as np

from perfmodel.kernels import KernelClass, Ladder


def build(prefetch: bool = False, width: int = 16, height: int = 16, rows: int = 1) -> lp.TranslationUnit:
    t_unit = lp.make_kernel(
        "{[i, j]: 0 <= i, j < n}",
        """
        result[i + 1, j + 1] = (
            u[i + 1, j + 1]**2 + source + (-4)*u[i + 1, j + 1]
            + u[i + 2, j + 1] + u[i, j + 1] + u[i + 1, j + 2] + u[i + 1, j]
        )
        """,
        [
            lp.GlobalArg("result, u", np.float32, shape="n + 2, n + 2", is_input=None),
            lp.ValueArg("source", np.float32),
            lp.ValueArg("n", np.int32),
        ],
        assumptions=f"n >= 1 and n mod {max(width, height * rows)} = 0",
        name=f"stencil_{'prefetched' if prefetch else 'direct'}",
        lang_version=(2018, 2),
    )
    t_unit = lp.split_iname(t_unit, "i", height * rows, inner_iname="i_in", outer_tag="g.1")
    t_unit = lp.split_iname(t_unit, "j", width, inner_iname="j_in", outer_tag="g.0")
    if prefetch:
        t_unit = lp.add_prefetch(
            t_unit,
            "u",
            ["i_in", "j_in"],
            fetch_bounding_box=True,
            fetch_outer_inames=frozenset({"i_outer", "j_outer"}),
            dim_arg_names=["row", "column"],
            temporary_name="u_tile",
            default_tag=None,
        )
        t_unit = lp.split_iname(t_unit, "row", height, inner_tag="l.1")
        t_unit = lp.split_iname(t_unit, "column", width, inner_tag="l.0")
    t_unit = lp.tag_inames(t_unit, "j_in:l.0")
    return lp.split_iname(t_unit, "i_in", height, inner_tag="l.1", outer_tag="unr")


def reference(arguments: dict[str, Any], **variant: Any) -> dict[str, Any]:
    u, result = arguments["u"], arguments["result"].copy()
    middle = u[1:-1, 1:-1]
    neighbours = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]
    result[1:-1, 1:-1] = middle**2 + arguments["source"] - 4 * middle + neighbours
    return {"result": result}


TILES = ({"width": 16, "height": 16}, {"width": 64, "height": 4}, {"width": 32, "height": 8, "rows": 4})

KERNEL = KernelClass(
    name="stencil_variants",
    group="stencil",
    build=build,
    variants=tuple({"prefetch": prefetch, **tile} for tile in TILES for prefetch in (False, True)),
    sizes=Ladder(lambda e: ({"n": 2**e},), start=9),
    reference=reference,
    scalars=lambda **_: {"source": 9.0},
    tags=("ranking", "stencil"),
    ranked=True,
)
