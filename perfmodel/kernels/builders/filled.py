"""Sums over all rows of a column-major array, whose tiles a work-group holds in local memory.

Stevens and Kloeckner, section 4.1.
"""

from __future__ import annotations

from typing import Any

import loopy as lp
import numpy as np

from perfmodel.kernels.shapes import WorkGroup, assume

#: Columns that each work-item adds up.
TILES = 256


def filled_stride(rows: int, work_group: WorkGroup = (256,)) -> lp.TranslationUnit:
    """Each work-item adds up `rows` rows of 256 columns; the array has 256 * (work-group size) columns."""
    (width,) = work_group
    terms = (f"a[{row}, {width}*k + lane]" for row in range(rows))
    t_unit = lp.make_kernel(
        f"{{[g, lane, k]: 0 <= lane < {width} and 0 <= {width}*g + lane < n and 0 <= k < {TILES}}}",
        f"out[{width}*g + lane] = sum(k, {' + '.join(terms)})",
        [
            lp.GlobalArg("a", np.float32, shape=(rows, TILES * width), order="F"),
            lp.GlobalArg("out", np.float32, shape="n"),
            lp.ValueArg("n", np.int32),
        ],
        assumptions=assume(n=work_group),
        name=f"filled_stride{rows}",
        lang_version=(2018, 2),
    )
    t_unit = lp.tag_inames(t_unit, {"g": "g.0", "lane": "l.0"})
    t_unit = lp.add_prefetch(
        t_unit,
        "a",
        ["lane"],
        dim_arg_names=["part", "fetch_lane"],
        fetch_outer_inames=frozenset({"g", "k"}),
        temporary_name="a_tile",
        default_tag=None,
    )
    return lp.tag_inames(t_unit, {"part": "unr", "fetch_lane": "l.0"})


def tile_sums(arguments: dict[str, Any], work_group: WorkGroup, **variant: Any) -> dict[str, Any]:
    """Return the output of :func:`filled_stride`: every work-group writes the same sums."""
    (width,) = work_group
    sums = arguments["a"].sum(axis=0).reshape(TILES, width).sum(axis=0)
    return {"out": np.resize(sums, arguments["n"])}
