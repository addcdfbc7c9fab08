"""Transpose of an n by n matrix, in variants to choose among.

In "load" and "store" the named access is strided, without local memory.  "tile" uses a
tile of `tile` by `tile` elements in local memory; each of a group's tile by `height` work-items
moves tile/height elements, and `pad` more columns spread a column over several memory banks.
"""

from __future__ import annotations

from typing import Any

import loopy as lp
import numpy as np

from perfmodel.kernels import KernelClass, Ladder


def build(form: str = "load", tile: int = 16, height: int = 16, pad: int = 0) -> lp.TranslationUnit:
    t_unit = lp.make_kernel(
        "{[i, j]: 0 <= i, j < n}",
        "out[j, i] = a[i, j]" if form == "store" else "out[i, j] = a[j, i]",
        [lp.GlobalArg("out, a", np.float32, shape="n, n"), lp.ValueArg("n", np.int32)],
        assumptions=f"n >= 1 and n mod {tile} = 0",
        name=f"transpose_{form}",
        lang_version=(2018, 2),
    )
    t_unit = lp.split_iname(t_unit, "i", tile, inner_iname="i_in", outer_tag="g.1")
    t_unit = lp.split_iname(t_unit, "j", tile, inner_iname="j_in", outer_tag="g.0")
    if form == "tile":
        t_unit = lp.add_prefetch(
            t_unit,
            "a",
            ["i_in", "j_in"],
            fetch_outer_inames=frozenset({"i_outer", "j_outer"}),
            dim_arg_names=["row", "column"],
            temporary_name="a_tile",
            default_tag=None,
        )
        t_unit = lp.split_iname(lp.tag_inames(t_unit, "column:l.0"), "row", height, inner_tag="l.1", outer_tag="unr")
        t_unit = padded(t_unit, "a_tile", pad)
    t_unit = lp.tag_inames(t_unit, "j_in:l.0")
    return lp.split_iname(t_unit, "i_in", height, inner_tag="l.1", outer_tag="unr")


def padded(t_unit: lp.TranslationUnit, name: str, pad: int) -> lp.TranslationUnit:
    """Let the rows of a temporary be `pad` cells longer than they are used."""
    kernel = t_unit.default_entrypoint
    array = kernel.temporary_variables[name]
    rows, columns = array.shape
    longer = array.copy(shape=(rows, columns + pad), dim_tags=None)
    return t_unit.with_kernel(kernel.copy(temporary_variables={**kernel.temporary_variables, name: longer}))


def reference(arguments: dict[str, Any], **variant: Any) -> dict[str, Any]:
    return {"out": arguments["a"].T}


KERNEL = KernelClass(
    name="transpose_variants",
    group="transpose",
    build=build,
    variants=(
        {"form": "load"},
        {"form": "store"},
        {"form": "tile"},
        {"form": "tile", "tile": 32, "height": 8},
        {"form": "tile", "pad": 1},
        {"form": "tile", "tile": 32, "height": 8, "pad": 1},
    ),
    sizes=Ladder(lambda e: ({"n": 2**e},), start=8),
    reference=reference,
    tags=("ranking", "memory"),
    ranked=True,
)
