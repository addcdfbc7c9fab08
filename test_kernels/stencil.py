"""Five-point finite differences with a quadratic source term, tiles and halo prefetched.

Stevens and Kloeckner, section 5 ("Finite Differences").
"""

from __future__ import annotations

import loopy as lp

from perfmodel.kernels import KernelClass, Ladder, WorkGroup, assume

from ._stencil import SOURCE, differences, differences_kernel


def build(work_group: WorkGroup = (16, 16)) -> lp.TranslationUnit:
    # With a 16 by 12 group every size is guarded: Loopy finds no convex halo otherwise.
    even = all(extent & (extent - 1) == 0 for extent in work_group)
    t_unit = differences_kernel("stencil", assume(n=work_group if even else ()))
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


KERNEL = KernelClass(
    name="stencil",
    group="stencil",
    build=build,
    sizes=Ladder(lambda e: ({"n": 2**e},), start=10),
    reference=differences,
    dimensions=2,
    scalars=lambda **_: {"source": SOURCE},
    tags=("paper", "stencil"),
)
