"""N-body: for each point the sum of inverse distances to all points, positions prefetched.

Stevens and Kloeckner, section 5 ("N-Body"): positions are a 3 by n column-major array that is
read in blocks of 3 by gsize.  A softening keeps a point's distance to itself from being zero.
"""

from __future__ import annotations

import loopy as lp

from perfmodel.kernels import KernelClass, Ladder, WorkGroup, assume

from ._nbody import SOFTENING, hold_own_position, potentials, potentials_kernel, prefetch_block


def build(work_group: WorkGroup = (256,)) -> lp.TranslationUnit:
    (width,) = work_group
    t_unit = potentials_kernel("nbody", assume(n=work_group))
    t_unit = lp.split_iname(t_unit, "i", width, outer_tag="g.0", inner_tag="l.0")
    t_unit = lp.prioritize_loops(lp.split_iname(t_unit, "j", width), "j_outer, j_inner")
    t_unit = prefetch_block(t_unit, "j_inner")
    t_unit = hold_own_position(t_unit)
    return lp.tag_inames(t_unit, "c:unr, part:unr, lane:l.0, axis:unr")


KERNEL = KernelClass(
    name="nbody",
    group="nbody",
    build=build,
    sizes=Ladder(lambda e: ({"n": 2**e},), start=10),
    reference=potentials,
    dimensions=1,
    scalars=lambda **_: {"softening": SOFTENING},
    tags=("paper", "local"),
)
