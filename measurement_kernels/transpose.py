"""Transpose of an n by n matrix: through a local tile, or with one side strided.

Stevens and Kloeckner, section 4.1: "tiled" reads and writes at stride 1, "strided_load"
only writes and "strided_store" only reads at stride 1.
"""

from __future__ import annotations

from typing import Any

import loopy as lp
import numpy as np

from perfmodel.kernels import KernelClass, Ladder, WorkGroup, assume

FORMS = ("tiled", "strided_load", "strided_store")


def build(form: str = "tiled", work_group: WorkGroup = (16, 16)) -> lp.TranslationUnit:
    t_unit = lp.make_kernel(
        "{[i, j]: 0 <= i, j < n}",
        "out[j, i] = a[i, j]" if form == "strided_store" else "out[i, j] = a[j, i]",
        [lp.GlobalArg("out, a", np.float32, shape="n, n"), lp.ValueArg("n", np.int32)],
        assumptions=assume(n=work_group),
        name=f"transpose_{form}",
        lang_version=(2018, 2),
    )
    t_unit = lp.split_iname(t_unit, "i", work_group[1], outer_tag="g.1", inner_tag="l.1")
    t_unit = lp.split_iname(t_unit, "j", work_group[0], outer_tag="g.0", inner_tag="l.0")
    if form == "tiled":
        t_unit = lp.add_prefetch(
            t_unit,
            "a",
            ["i_inner", "j_inner"],
            fetch_outer_inames=frozenset({"i_outer", "j_outer"}),
            temporary_name="a_tile",
            default_tag="l.auto",
        )
    return t_unit


def reference(arguments: dict[str, Any], **variant: Any) -> dict[str, Any]:
    return {"out": arguments["a"].T}


KERNEL = KernelClass(
    name="transpose",
    group="transpose",
    build=build,
    variants=tuple({"form": form} for form in FORMS),
    sizes=Ladder(lambda e: ({"n": 2**e},), start=6),
    reference=reference,
    dimensions=2,
    tags=("paper", "memory"),
)
