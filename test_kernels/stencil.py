"""Five-point finite differences with a quadratic source term, tiles and halo prefetched.

Stevens and Kloeckner, section 5 ("Finite Differences").
"""

from __future__ import annotations

from typing import Any

import loopy as lp
import numpy as np

from perfmodel.kernels import KernelClass, Ladder, WorkGroup, assume


def build(work_group: WorkGroup = (16, 16)) -> lp.TranslationUnit:
    # With a 16 by 12 group every size is guarded: Loopy finds no convex halo otherwise.
    even = all(extent & (extent - 1) == 0 for extent in work_group)
    t_unit = lp.make_kernel(
        "{[i, j]: 0 <= i, j < n}",
        """
        result[i + 1, j + 1] = (
            u[i + 1, j + 1]**2 + source + (-4)*u[i + 1, j + 1]
            + u[i + 2, j + 1] + u[i, j + 1] + u[i + 1, j + 2] + u[i + 1, j]
        )
        """,
        [
            lp.GlobalArg("result, u", np.float32, shape="n + 2, n + 2", is_input=None),
            lp.ValueArg("source", np.float32),
            lp.ValueArg("n", np.int32),
        ],
        assumptions=assume(n=work_group if even else ()),
        name="stencil",
        lang_version=(2018, 2),
    )
    t_unit = lp.split_iname(t_unit, "i", work_group[1], outer_tag="g.1", inner_tag="l.1")
    t_unit = lp.split_iname(t_unit, "j", work_group[0], outer_tag="g.0", inner_tag="l.0")
    return lp.add_prefetch(
        t_unit,
        "u",
        ["i_inner", "j_inner"],
        fetch_bounding_box=True,
        fetch_outer_inames=frozenset({"i_outer", "j_outer"}),
        temporary_name="u_tile",
        default_tag="l.auto",
    )


def reference(arguments: dict[str, Any], **variant: Any) -> dict[str, Any]:
    u, result = arguments["u"], arguments["result"].copy()
    middle = u[1:-1, 1:-1]
    neighbours = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]
    result[1:-1, 1:-1] = middle**2 + arguments["source"] - 4 * middle + neighbours
    return {"result": result}


KERNEL = KernelClass(
    name="stencil",
    group="stencil",
    build=build,
    sizes=Ladder(lambda e: ({"n": 2**e},), start=10),
    reference=reference,
    dimensions=2,
    scalars=lambda **_: {"source": 9.0},
    tags=("paper", "stencil"),
)
