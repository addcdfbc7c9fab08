"""Five-point finite differences of Stevens and Klöckner, section 5, and tiles of stencils, for two kernel classes."""

from __future__ import annotations

from typing import Any

import loopy as lp
import numpy as np

SOURCE = 9.0


def differences_kernel(name: str, assumptions: str) -> lp.TranslationUnit:
    """Make the kernel, without any transformation."""
    return lp.make_kernel(
        "{[i, j]: 0 <= i, j < n}",
        """
        result[i + 1, j + 1] = (
            u[i + 1, j + 1]**2 + source + (-4)*u[i + 1, j + 1]
            + u[i + 2, j + 1] + u[i, j + 1] + u[i + 1, j + 2] + u[i + 1, j]
        )
        """,
        [
            lp.GlobalArg("result, u", np.float32, shape="n + 2, n + 2", is_input=None),
            lp.ValueArg("source", np.float32), lp.ValueArg("n", np.int32),
        ],
        assumptions=assumptions, name=name, lang_version=(2018, 2),
    )


def tiled_stencil(
    t_unit: lp.TranslationUnit, array: str, width: int, height: int, rows: int, prefetch: bool, unroll: bool = True
) -> lp.TranslationUnit:
    """Split a kernel of i and j into tiles of width by height*rows cells. Each work-item loops over `rows` cells.

    With `prefetch` a tile of the array, with its halo, is in local memory.
    """
    t_unit = lp.split_iname(t_unit, "i", height * rows, inner_iname="i_in", outer_tag="g.1")
    t_unit = lp.split_iname(t_unit, "j", width, inner_iname="j_in", outer_tag="g.0")
    if prefetch:
        t_unit = lp.add_prefetch(
            t_unit, array, ["i_in", "j_in"], fetch_bounding_box=True,
            fetch_outer_inames=frozenset({"i_outer", "j_outer"}), dim_arg_names=["row", "column"],
            temporary_name=f"{array}_tile", default_tag=None,
        )
        t_unit = lp.split_iname(t_unit, "row", height, inner_tag="l.1")
        t_unit = lp.split_iname(t_unit, "column", width, inner_tag="l.0")
    t_unit = lp.tag_inames(t_unit, "j_in:l.0")
    return lp.split_iname(t_unit, "i_in", height, inner_tag="l.1", outer_tag="unr" if unroll else None)


def differences(arguments: dict[str, Any], **variant: Any) -> dict[str, Any]:
    """Return the result, whose border is not written."""
    u, result = arguments["u"], arguments["result"].copy()
    middle = u[1:-1, 1:-1]
    neighbours = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]
    result[1:-1, 1:-1] = middle**2 + arguments["source"] - 4 * middle + neighbours
    return {"result": result}
