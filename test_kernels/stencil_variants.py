"""Five-point finite differences of section 5 in Stevens and Kloeckner, in variants to choose among.

A group of `width` by `height` work-items computes a tile of width by height*`rows` points,
each work-item `rows` of them; with `prefetch` from a tile with its halo in local memory.
"""

from __future__ import annotations

import loopy as lp

from perfmodel.kernels import KernelClass, Ladder
from perfmodel.kernels.builders.stencil import SOURCE, differences, differences_kernel


def build(prefetch: bool = False, width: int = 16, height: int = 16, rows: int = 1) -> lp.TranslationUnit:
    form = "prefetched" if prefetch else "direct"
    t_unit = differences_kernel(f"stencil_{form}", assumptions=f"n >= 1 and n mod {max(width, height * rows)} = 0")
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


TILES = ({"width": 16, "height": 16}, {"width": 64, "height": 4}, {"width": 32, "height": 8, "rows": 4})

KERNEL = KernelClass(
    name="stencil_variants",
    group="stencil",
    build=build,
    variants=tuple({"prefetch": prefetch, **tile} for tile in TILES for prefetch in (False, True)),
    sizes=Ladder(lambda e: ({"n": 2**e},), start=9),
    reference=differences,
    scalars=lambda **_: {"source": SOURCE},
    tags=("ranking", "stencil"),
    ranked=True,
)
