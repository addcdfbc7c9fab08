"""The same work in many small or few large work-groups, which shows the time of a group itself.

Only groups of one work-item isolate this time.  In a group that copies eight numbers, the accesses to memory may
take as long as the group itself.  Doubling n doubles both, so that their times cannot be separated.
"""

from __future__ import annotations

from typing import Any

import loopy as lp
import numpy as np

from perfmodel.kernels import KernelClass, Ladder, WorkGroup, assume

WIDTHS = (1, 8, 32, 64, 128, 256)


def build(width: int = 32, work_group: WorkGroup = ()) -> lp.TranslationUnit:
    t_unit = lp.make_kernel(
        "{[i]: 0 <= i < n}",
        "out[i] = a[i]",
        [lp.GlobalArg("a, out", np.float32, shape="n"), lp.ValueArg("n", np.int32)],
        assumptions=assume(n=(width,)),
        name=f"groups_of_{width}",
        lang_version=(2018, 2),
    )
    return lp.split_iname(t_unit, "i", width, outer_tag="g.0", inner_tag="l.0")


def reference(arguments: dict[str, Any], **variant: Any) -> dict[str, Any]:
    return {"out": arguments["a"]}


KERNEL = KernelClass(
    name="group_ladder",
    group="groups",
    build=build,
    variants=tuple({"width": width} for width in WIDTHS),
    sizes=Ladder(lambda e: ({"n": 2**e},), start=12, step=2, rungs=3),
    reference=reference,
    tags=("overhead",),
    isolates=lambda width, **_: "work_groups" if width == 1 else None,
    doubles="n",
)
