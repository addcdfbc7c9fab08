"""Volume term of a discontinuous Galerkin method, in four variants to choose among.

out[r, e, i] = sum_j d[r, i, j] u[e, j]: three derivative matrices d of 64 by 64 nodes are applied
to every element's nodes.  "plain" reads all from global memory, "prefetch_u" keeps a tile of the
elements' nodes in local memory and "prefetch_d" a tile of the matrices; "transposed" stores equal
nodes of all elements side by side, so that neighbouring work-items access neighbouring elements.
"""

from __future__ import annotations

from typing import Any

import loopy as lp
import numpy as np

from perfmodel.kernels import KernelClass, Ladder

MATRICES, NODES, TILE = 3, 64, 16


def build(form: str = "plain") -> lp.TranslationUnit:
    layouts = ("N0, N1", "N2, N0, N1") if form == "transposed" else ("N1, N0", "N2, N1, N0")
    t_unit = lp.make_kernel(
        f"{{[r, e, i, j]: 0 <= r < {MATRICES} and 0 <= e < n and 0 <= i, j < {NODES}}}",
        "out[r, e, i] = sum(j, d[r, i, j]*u[e, j])",
        [
            lp.GlobalArg("d", np.float32, shape=(MATRICES, NODES, NODES)),
            lp.GlobalArg("u", np.float32, shape=f"n, {NODES}", dim_tags=layouts[0]),
            lp.GlobalArg("out", np.float32, shape=f"{MATRICES}, n, {NODES}", dim_tags=layouts[1]),
            lp.ValueArg("n", np.int32),
        ],
        assumptions=f"n >= 1 and n mod {TILE} = 0",
        name=f"dg_volume_{form}",
        lang_version=(2018, 2),
    )
    first, second = ("e", "i") if form == "transposed" else ("i", "e")
    t_unit = lp.split_iname(t_unit, first, TILE, inner_iname=f"{first}_in", outer_tag="g.0", inner_tag="l.0")
    t_unit = lp.split_iname(t_unit, second, TILE, inner_iname=f"{second}_in", outer_tag="g.1", inner_tag="l.1")
    t_unit = lp.split_iname(t_unit, "j", TILE, inner_iname="j_in")
    sweeps = {"prefetch_u": ("u", ["e_in", "j_in"]), "prefetch_d": ("d", ["i_in", "j_in"])}
    if form in sweeps:
        array, sweep = sweeps[form]
        t_unit = lp.add_prefetch(
            t_unit,
            array,
            sweep,
            fetch_outer_inames=frozenset({"r", "e_outer", "i_outer", "j_outer"}),
            temporary_name=f"{array}_tile",
            default_tag="l.auto",
        )
    return lp.prioritize_loops(t_unit, "r, j_outer, j_in")


def reference(arguments: dict[str, Any], **variant: Any) -> dict[str, Any]:
    return {"out": np.einsum("rij,ej->rei", arguments["d"], arguments["u"], optimize=True)}


KERNEL = KernelClass(
    name="dg_volume",
    group="dg",
    build=build,
    variants=tuple({"form": form} for form in ("plain", "prefetch_u", "prefetch_d", "transposed")),
    sizes=Ladder(lambda e: ({"n": 2**e},), start=8),
    reference=reference,
    tags=("ranking", "local"),
    ranked=True,
)
