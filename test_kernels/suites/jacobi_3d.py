"""Seven-point average on m planes of n by n cells.

The stencil of Parboil, and of PolyBench's 3-D kernels.  Groups of `width` by `height` work-items cover part of a plane.
In "planes" each work-item computes one cell; in "march" it goes through all planes, `unroll` at a time; in
"brick" a group keeps `DEPTH` planes with their halo in local memory.
"""

from __future__ import annotations

from typing import Any

import loopy as lp
import numpy as np

from perfmodel.kernels import KernelClass, Ladder

DEPTH = 4


def build(form: str = "planes", width: int = 16, height: int = 16, unroll: int = 1) -> lp.TranslationUnit:
    t_unit = lp.make_kernel(
        "{[k, i, j]: 0 <= k < m and 0 <= i, j < n}",
        """
        out[k, i, j] = middle*u[k + 1, i + 1, j + 1] + side*(
            u[k, i + 1, j + 1] + u[k + 2, i + 1, j + 1] + u[k + 1, i, j + 1]
            + u[k + 1, i + 2, j + 1] + u[k + 1, i + 1, j] + u[k + 1, i + 1, j + 2])
        """,
        [
            lp.GlobalArg("u", np.float32, shape="m + 2, n + 2, n + 2"),
            lp.GlobalArg("out", np.float32, shape="m, n, n"),
            lp.ValueArg("middle, side", np.float32),
            lp.ValueArg("m, n", np.int32),
        ],
        assumptions=f"n >= 1 and n mod {max(width, height)} = 0 and m >= 1 and m mod {DEPTH} = 0",
        name="jacobi_3d",
        lang_version=(2018, 2),
    )
    t_unit = lp.split_iname(t_unit, "i", height, inner_iname="i_in", outer_tag="g.1", inner_tag="l.1")
    t_unit = lp.split_iname(t_unit, "j", width, inner_iname="j_in", outer_tag="g.0", inner_tag="l.0")
    if form == "planes":
        return lp.tag_inames(t_unit, "k:g.2")
    if form == "march":
        return lp.split_iname(t_unit, "k", unroll, inner_tag="unr") if unroll > 1 else t_unit
    t_unit = lp.split_iname(t_unit, "k", DEPTH, inner_iname="k_in", outer_tag="g.2")
    t_unit = lp.add_prefetch(
        t_unit,
        "u",
        ["k_in", "i_in", "j_in"],
        fetch_bounding_box=True,
        fetch_outer_inames=frozenset({"k_outer", "i_outer", "j_outer"}),
        dim_arg_names=["plane", "row", "column"],
        temporary_name="u_brick",
        default_tag=None,
    )
    t_unit = lp.split_iname(t_unit, "row", height, inner_tag="l.1")
    return lp.split_iname(t_unit, "column", width, inner_tag="l.0")


def reference(arguments: dict[str, Any], **variant: Any) -> dict[str, Any]:
    u = arguments["u"].astype(float)
    sides = (
        u[:-2, 1:-1, 1:-1] + u[2:, 1:-1, 1:-1] + u[1:-1, :-2, 1:-1]
        + u[1:-1, 2:, 1:-1] + u[1:-1, 1:-1, :-2] + u[1:-1, 1:-1, 2:]
    )  # fmt: skip
    return {"out": arguments["middle"] * u[1:-1, 1:-1, 1:-1] + arguments["side"] * sides}


KERNEL = KernelClass(
    name="jacobi_3d",
    group="stencil",
    build=build,
    variants=(
        {},
        {"width": 64, "height": 4},
        {"form": "march"},
        {"form": "march", "width": 64, "height": 4, "unroll": 4},
        {"form": "brick"},
    ),
    sizes=Ladder(lambda e: ({"m": 2**e, "n": 128},), start=4, rungs=3),
    reference=reference,
    scalars=lambda **_: {"middle": 0.25, "side": 0.125},
    tags=("suites", "aside"),
    ranked=True,
)
