"""Copies through a tile in local memory, with or without a halo around it.

A work-group of `width` by `height` work-items copies `width` by `height*rows` cells, each work-item `rows` of them.
Every output cell is one cell of the tile, which another work-item loaded; nothing is computed.
"""

from __future__ import annotations

from typing import Any

import loopy as lp
import numpy as np

from perfmodel.kernels.builders.guards import end, stored


def tile_copy(
    name: str, width: int, height: int, rows: int = 1, halo: int = 0, pad: int = 0, guarded: bool = False
) -> lp.TranslationUnit:
    """Copy an m by n array through tiles, each loaded with `halo` cells more on every side.

    The input has 2*`halo` rows and columns more than the output, which are not copied, and its rows are `pad` cells
    longer than that. Each tile is stored with its last row first, so that a barrier is needed. With `guarded` the last
    column is not copied.
    """
    depth = height * rows
    t_unit = lp.make_kernel(
        [
            f"{{[gi, gj, i, j]: 0 <= i < {depth} and 0 <= j < {width} and 0 <= {depth}*gi + i < m"
            f" and 0 <= {width}*gj + j < {end('n', guarded)}}}",
            f"{{[r, c]: 0 <= r < {depth + 2 * halo} and 0 <= c < {width + 2 * halo}}}",
        ],
        f"""
        for gi, gj
            tile[r, c] = a[{depth}*gi + r, {width}*gj + c] {{id=fetch}}
            out[{depth}*gi + i, {width}*gj + j] = tile[{depth + 2 * halo - 1} - i, j + {2 * halo}] {{dep=fetch}}
        end
        """,
        [
            lp.GlobalArg("a", np.float32, shape=f"m + {2 * halo}, n + {2 * halo + pad}"),
            lp.GlobalArg("out", np.float32, shape="m, n", is_input=None),
            lp.TemporaryVariable(
                "tile", np.float32, shape=(depth + 2 * halo, width + 2 * halo), address_space=lp.AddressSpace.LOCAL
            ),
            lp.ValueArg("m, n", np.int32),
        ],
        assumptions=f"m >= 1 and n >= 1 and m mod {depth} = 0 and n mod {width} = 0",
        name=name,
        lang_version=(2018, 2),
    )
    t_unit = lp.split_iname(t_unit, "r", height, inner_tag="l.1", outer_tag=None if halo else "unr")
    t_unit = lp.split_iname(t_unit, "c", width, inner_tag="l.0", outer_tag=None if halo else "unr")
    t_unit = lp.split_iname(t_unit, "i", height, inner_tag="l.1", outer_tag="unr")
    return lp.prioritize_loops(lp.tag_inames(t_unit, "gi:g.1, gj:g.0, j:l.0"), "r_outer, c_outer")


def copied(
    arguments: dict[str, Any], height: int, rows: int = 1, halo: int = 0, guarded: bool = False, **variant: Any
) -> dict[str, Any]:
    """Return the output of :func:`tile_copy`."""
    m, n = arguments["m"], arguments["n"]
    inside = arguments["a"][2 * halo : 2 * halo + m, 2 * halo : 2 * halo + n]
    values = inside.reshape(-1, height * rows, n)[:, ::-1].reshape(m, n)
    return {"out": stored(values, arguments["out"], guarded)}
