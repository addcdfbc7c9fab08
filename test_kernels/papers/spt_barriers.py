"""Barriers of one to 128 work-groups: Karsin (2018), section 4.5.1 and figure 4.4.

Each work-item makes `k` additions, with a barrier after each of them. Groups are added to the device one by one.
"""

from __future__ import annotations

import loopy as lp
import numpy as np

from perfmodel.kernels import KernelClass, Ladder

WIDTH, BARRIERS = 256, 4000
MAGNITUDES = (0, 2, 4, 6)


def build() -> lp.TranslationUnit:
    t_unit = lp.make_kernel(
        f"{{[g, l, t]: 0 <= g < groups and 0 <= l < {WIDTH} and 0 <= t < k}}",
        """
        for g, l
            value = a[l] {id=first}
            for t
                value = value + p {id=add, dep=first}
                ... lbarrier {id=wait, dep=add}
            end
            out[g, l] = value {dep=wait}
        end
        """,
        [
            lp.GlobalArg("a", np.float32, shape=WIDTH), lp.GlobalArg("out", np.float32, shape=f"groups, {WIDTH}"),
            lp.TemporaryVariable("value", np.float32, shape=()), lp.ValueArg("p", np.float32),
            lp.ValueArg("groups, k", np.int32),
        ],
        assumptions="groups >= 1 and k >= 1",
        name="barriers",
        lang_version=(2018, 2),
    )
    return lp.tag_inames(t_unit, {"g": "g.0", "l": "l.0"})


KERNEL = KernelClass(
    name="spt_barriers",
    group="spt",
    build=build,
    sizes=Ladder(lambda e: tuple({"groups": 2 ** (e + at), "k": BARRIERS} for at in MAGNITUDES), start=0, rungs=2),
    reference=lambda arguments: {
        "out": np.tile(arguments["a"] + arguments["k"] * arguments["p"], (arguments["groups"], 1))
    },
    scalars=lambda **_: {"p": 0.25},
    tags=("papers", "spt", "local"),
    tolerance=1e-3,
)
