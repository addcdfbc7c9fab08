"""Launches, from one to many: Karsin (2018), section 4.6, figures 4.5 and 4.6.

Each of `launches` device kernels adds one to every element of an array in global memory; the host's loop starts them.
"""

from __future__ import annotations

import loopy as lp
import numpy as np

from perfmodel.kernels import KernelClass, Ladder

WIDTH = 256
GROUPS = (1, 16)


def build() -> lp.TranslationUnit:
    t_unit = lp.make_kernel(
        f"{{[s, g, l]: 0 <= s < launches and 0 <= g < groups and 0 <= l < {WIDTH}}}",
        """
        for s
            ... gbarrier {id=wait}
            for g, l
                out[g, l] = out[g, l] + a[g, l] {id=add, dep=wait}
            end
        end
        """,
        [
            lp.GlobalArg("a, out", np.float32, shape=f"groups, {WIDTH}"), lp.ValueArg("groups, launches", np.int32),
        ],
        assumptions="groups >= 1 and launches >= 1",
        name="launches",
        lang_version=(2018, 2),
    )
    return lp.tag_inames(t_unit, {"g": "g.0", "l": "l.0"})


KERNEL = KernelClass(
    name="spt_launches",
    group="spt",
    build=build,
    sizes=Ladder(
        lambda e: tuple({"groups": groups, "launches": 4 ** (2 * e + at)} for groups in GROUPS for at in (0, 1)),
        start=0, rungs=3,
    ),
    reference=lambda arguments: {"out": arguments["out"] + arguments["launches"] * arguments["a"]},
    tags=("papers", "spt", "overhead"),
    tolerance=1e-3,
)
