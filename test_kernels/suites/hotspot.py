"""One step of heat flow on a chip of n by n cells, with coefficients that vary from cell to cell.

The update of Rodinia's HotSpot, with arrays instead of constants for the capacities and for the conductances along
both axes.  Groups of `width` by `height` work-items compute `rows` cells each; with `prefetch` the temperatures
come from a tile with its halo in local memory.
"""

from __future__ import annotations

from typing import Any

import loopy as lp
import numpy as np

from perfmodel.kernels import KernelClass, Ladder


def build(width: int = 16, height: int = 16, rows: int = 1, prefetch: bool = False) -> lp.TranslationUnit:
    t_unit = lp.make_kernel(
        "{[i, j]: 0 <= i, j < n}",
        """
        <> here = t[i + 1, j + 1]
        out[i, j] = here + step/capacity[i, j]*(
            power[i, j] + gy[i, j]*(t[i, j + 1] + t[i + 2, j + 1] - 2*here)
            + gx[i, j]*(t[i + 1, j] + t[i + 1, j + 2] - 2*here) + gz*(ambient - here))
        """,
        [
            lp.GlobalArg("t", np.float32, shape="n + 2, n + 2"),
            lp.GlobalArg("power, capacity, gx, gy, out", np.float32, shape="n, n"),
            lp.ValueArg("step, gz, ambient", np.float32),
            lp.ValueArg("n", np.int32),
        ],
        assumptions=f"n >= 1 and n mod {max(width, height * rows)} = 0",
        name="hotspot",
        lang_version=(2018, 2),
    )
    t_unit = lp.split_iname(t_unit, "i", height * rows, inner_iname="i_in", outer_tag="g.1")
    t_unit = lp.split_iname(t_unit, "j", width, inner_iname="j_in", outer_tag="g.0")
    if prefetch:
        t_unit = lp.add_prefetch(
            t_unit,
            "t",
            ["i_in", "j_in"],
            fetch_bounding_box=True,
            fetch_outer_inames=frozenset({"i_outer", "j_outer"}),
            dim_arg_names=["row", "column"],
            temporary_name="t_tile",
            default_tag=None,
        )
        t_unit = lp.split_iname(t_unit, "row", height, inner_tag="l.1")
        t_unit = lp.split_iname(t_unit, "column", width, inner_tag="l.0")
    t_unit = lp.tag_inames(t_unit, "j_in:l.0")
    return lp.split_iname(t_unit, "i_in", height, inner_tag="l.1", outer_tag="unr")


def reference(arguments: dict[str, Any], **variant: Any) -> dict[str, Any]:
    t = arguments["t"].astype(float)
    here = t[1:-1, 1:-1]
    flow = (
        arguments["power"]
        + arguments["gy"] * (t[:-2, 1:-1] + t[2:, 1:-1] - 2 * here)
        + arguments["gx"] * (t[1:-1, :-2] + t[1:-1, 2:] - 2 * here)
        + arguments["gz"] * (arguments["ambient"] - here)
    )
    return {"out": here + arguments["step"] / arguments["capacity"] * flow}


KERNEL = KernelClass(
    name="hotspot",
    group="stencil",
    build=build,
    variants=(
        {},
        {"prefetch": True},
        {"width": 64, "height": 4},
        {"width": 32, "height": 8, "rows": 4},
        {"width": 32, "height": 8, "rows": 4, "prefetch": True},
    ),
    sizes=Ladder(lambda e: ({"n": 2**e},), start=8, rungs=3),
    reference=reference,
    # a short step, so that no temperature comes near zero
    scalars=lambda **_: {"step": 0.0078125, "gz": 0.25, "ambient": 1.25},
    tags=("suites", "seen"),
    ranked=True,
)
