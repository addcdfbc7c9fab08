"""N-body of section 5 in Stevens and Kloeckner, in variants to choose among.

Positions come from global memory, or with `prefetch` from blocks of 3 by 256 in local memory;
`unroll` points are handled in each turn of the innermost loop.
"""

from __future__ import annotations

import loopy as lp

from perfmodel.kernels import KernelClass, Ladder

from ._nbody import SOFTENING, hold_own_position, potentials, potentials_kernel, prefetch_block

WIDTH = 256


def build(prefetch: bool = False, unroll: int = 1) -> lp.TranslationUnit:
    form = "prefetched" if prefetch else "direct"
    t_unit = potentials_kernel(f"nbody_{form}_{unroll}", assumptions=f"n >= 1 and n mod {WIDTH} = 0")
    t_unit = lp.split_iname(t_unit, "i", WIDTH, outer_tag="g.0", inner_tag="l.0")
    t_unit = lp.split_iname(t_unit, "j", WIDTH, inner_iname="j_in")
    if prefetch:
        t_unit = prefetch_block(t_unit, "j_in")
        t_unit = lp.tag_inames(t_unit, "part:unr, lane:l.0")
    t_unit = hold_own_position(t_unit)
    t_unit = lp.split_iname(t_unit, "j_in", unroll, outer_iname="turn", inner_tag="unr")
    return lp.prioritize_loops(lp.tag_inames(t_unit, "c:unr, axis:unr"), "j_outer, turn")


KERNEL = KernelClass(
    name="nbody_variants",
    group="nbody",
    build=build,
    variants=tuple({"prefetch": prefetch, "unroll": unroll} for unroll in (1, 8) for prefetch in (False, True)),
    sizes=Ladder(lambda e: ({"n": 2**e},), start=10),
    reference=potentials,
    scalars=lambda **_: {"softening": SOFTENING},
    tags=("ranking", "local"),
    ranked=True,
)
