"""Copy of an array by few and many work-groups: Karsin (2018), section 4.2.1 and figure 4.1.

A work-item copies `each` elements, `ilp` at a time: it loads `ilp` elements into registers, then stores them. All
accesses are coalesced. Groups are added one by one to the device, so that the work grows with the oversubscription.
"""

from __future__ import annotations

import loopy as lp
import numpy as np

from perfmodel.kernels import KernelClass, Ladder

WIDTH, EACH = 256, 64
#: Groups of one rung; two rungs have every power of two up to 128.
MAGNITUDES = (0, 2, 4, 6)


def build(ilp: int = 1) -> lp.TranslationUnit:
    t_unit = lp.make_kernel(
        f"{{[g, l, t, u, v]: 0 <= g < groups and 0 <= l < {WIDTH} and 0 <= {ilp}*t < each and 0 <= u, v < {ilp}}}",
        f"""
        for g, l, t
            held[u] = a[g, {ilp}*t + u, l] {{id=load}}
            b[g, {ilp}*t + v, l] = held[v] {{dep=load}}
        end
        """,
        [
            lp.GlobalArg("a, b", np.float32, shape=f"groups, each, {WIDTH}"),
            lp.TemporaryVariable("held", np.float32, shape=(ilp,)),
            lp.ValueArg("groups, each", np.int32),
        ],
        assumptions="groups >= 1 and each >= 8 and each mod 8 = 0",
        name=f"copy_{ilp}",
        lang_version=(2018, 2),
    )
    return lp.tag_inames(t_unit, {"g": "g.0", "l": "l.0", "u": "unr", "v": "unr"})


KERNEL = KernelClass(
    name="spt_copy",
    group="spt",
    build=build,
    variants=tuple({"ilp": ilp} for ilp in (1, 2, 4, 8)),
    sizes=Ladder(lambda e: tuple({"groups": 2 ** (e + at), "each": EACH} for at in MAGNITUDES), start=0, rungs=2),
    reference=lambda arguments, ilp: {"b": arguments["a"]},
    tags=("papers", "spt"),
)
