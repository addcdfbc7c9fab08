"""Empty kernel: launches work-groups over an m by n grid and does nothing.

Stevens and Kloeckner, section 4.1: it gives the launch overhead and the cost of a group.  The
paper's grids are square; here m is a separate size, so that it can be doubled alone.
"""

from __future__ import annotations

from typing import Any

import loopy as lp
import numpy as np

from perfmodel.kernels import KernelClass, Ladder, WorkGroup, assume


def build(work_group: WorkGroup = (16, 16)) -> lp.TranslationUnit:
    t_unit = lp.make_kernel(
        "{[i, j]: 0 <= i < m and 0 <= j < n}",
        "... nop {inames=i:j}",
        [lp.ValueArg("m, n", np.int32)],
        assumptions=assume(m=work_group[1:], n=work_group[:1]),
        name="empty",
        lang_version=(2018, 2),
    )
    t_unit = lp.split_iname(t_unit, "i", work_group[1], outer_tag="g.1", inner_tag="l.1")
    return lp.split_iname(t_unit, "j", work_group[0], outer_tag="g.0", inner_tag="l.0")


def reference(arguments: dict[str, Any], **variant: Any) -> dict[str, Any]:
    return {}


KERNEL = KernelClass(
    name="empty",
    group="empty",
    build=build,
    sizes=Ladder(lambda e: ({"m": 2**e, "n": 2**e},), start=7, rungs=6),
    reference=reference,
    dimensions=2,
    tags=("paper", "overhead"),
    isolates="work_groups",
    doubles="m",
)
