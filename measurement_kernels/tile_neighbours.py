"""Sums of 2 to 9 cells of a tile with its halo, which neighbouring work-items read too.

The rows of the tile are an odd number of cells longer than a power of two, so its loads may begin anywhere in a line
of local memory. A work-group stores `width` by `height*rows` cells, and each work-item `rows` of them.
"""

from __future__ import annotations

from typing import Any

import loopy as lp
import numpy as np

from perfmodel.kernels import KernelClass, Ladder

SHIFTS = {
    "columns": ((0, -1), (0, 0), (0, 1)),
    "rows": ((-1, 0), (0, 0), (1, 0)),
    "corners": ((-1, -1), (1, 1)),
    "square": tuple((i, j) for i in (-1, 0, 1) for j in (-1, 0, 1)),
}
"""The input cells that each output cell sums: their distance in rows and columns."""


def build(of: str = "rows", width: int = 16, height: int = 16, rows: int = 1) -> lp.TranslationUnit:
    depth = height * rows
    cells = " + ".join(f"tile[i + {1 + below}, j + {1 + right}]" for below, right in SHIFTS[of])
    t_unit = lp.make_kernel(
        [
            f"{{[gi, gj, i, j]: 0 <= i < {depth} and 0 <= j < {width} and 0 <= {depth}*gi + i < m"
            f" and 0 <= {width}*gj + j < n}}",
            f"{{[r, c]: 0 <= r < {depth + 2} and 0 <= c < {width + 2}}}",
        ],
        f"""
        for gi, gj
            tile[r, c] = a[{depth}*gi + r, {width}*gj + c] {{id=fetch}}
            out[{depth}*gi + i, {width}*gj + j] = {cells} {{dep=fetch}}
        end
        """,
        [
            lp.GlobalArg("a", np.float32, shape="m + 2, n + 2"),
            lp.GlobalArg("out", np.float32, shape="m, n", is_input=None),
            lp.TemporaryVariable(
                "tile", np.float32, shape=(depth + 2, width + 2), address_space=lp.AddressSpace.LOCAL
            ),
            lp.ValueArg("m, n", np.int32),
        ],
        assumptions=f"m >= 1 and n >= 1 and m mod {depth} = 0 and n mod {width} = 0",
        name=f"neighbours_{of}_{width}_{height}_{rows}",
        lang_version=(2018, 2),
    )
    t_unit = lp.split_iname(t_unit, "r", height, inner_tag="l.1")
    t_unit = lp.split_iname(t_unit, "c", width, inner_tag="l.0")
    t_unit = lp.split_iname(t_unit, "i", height, inner_tag="l.1", outer_tag="unr")
    return lp.prioritize_loops(lp.tag_inames(t_unit, "gi:g.1, gj:g.0, j:l.0"), "r_outer, c_outer")


def reference(arguments: dict[str, Any], of: str, **variant: Any) -> dict[str, Any]:
    a, m, n = arguments["a"].astype(float), arguments["m"], arguments["n"]
    return {"out": sum(a[1 + below : 1 + below + m, 1 + right : 1 + right + n] for below, right in SHIFTS[of])}


KERNEL = KernelClass(
    name="tile_neighbours",
    group="neighbours",
    build=build,
    variants=(
        {"of": "rows"},
        {"of": "columns"},
        {"of": "square"},
        {"of": "corners", "width": 64, "height": 4},
        {"of": "square", "width": 64, "height": 4},
        {"of": "columns", "width": 32, "height": 8, "rows": 4},
        {"of": "square", "width": 32, "height": 4, "rows": 2},
    ),
    sizes=Ladder(lambda e: ({"m": 2 ** (e - 1), "n": 2**e},), start=7, step=2, rungs=3),
    reference=reference,
    tags=("context", "local"),
    tolerance=1e-4,
)
