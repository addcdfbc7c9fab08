"""Two streams computed from four: p = a + alpha b, and from it q = c p + beta d.

The triads of SHOC and of the STREAM benchmark, one after the other.  Each work-item computes `cells` cells: the lanes
of a group read neighbouring cells, or with `order` "items" each work-item reads neighbouring ones.  With `launches` of
2 the second triad reads p again in a separate launch.
"""

from __future__ import annotations

from typing import Any

import loopy as lp
import numpy as np

from perfmodel.kernels import KernelClass, Ladder

FORMS = {
    1: """
        <> sum = a[i0] + alpha*b[i0]
        p[i0] = sum
        q[i0] = c[i0]*sum + beta*d[i0]
        """,
    2: """
        p[i0] = a[i0] + alpha*b[i0] {id=first}
        ... gbarrier {id=wait, dep=first}
        q[i1] = c[i1]*p[i1] + beta*d[i1] {dep=wait}
        """,
}


def build(width: int = 256, cells: int = 1, order: str = "lanes", launches: int = 1) -> lp.TranslationUnit:
    inames = ", ".join(f"i{s}" for s in range(launches))
    t_unit = lp.make_kernel(
        f"{{[{inames}]: 0 <= {inames} < n}}",
        FORMS[launches],
        [
            lp.GlobalArg("a, b, c, d", np.float32, shape="n"),
            lp.GlobalArg("p, q", np.float32, shape="n", is_input=False),
            lp.ValueArg("alpha, beta", np.float32),
            lp.ValueArg("n", np.int32),
        ],
        assumptions=f"n >= 1 and n mod {width * cells} = 0",
        name="triad",
        lang_version=(2018, 2),
    )
    for s in range(launches):
        t_unit = lp.split_iname(t_unit, f"i{s}", width * cells, inner_iname=f"cell{s}", outer_tag="g.0")
        if order == "lanes":
            t_unit = lp.split_iname(t_unit, f"cell{s}", width, inner_tag="l.0", outer_tag="unr")
        else:
            t_unit = lp.split_iname(t_unit, f"cell{s}", cells, outer_tag="l.0", inner_tag="unr")
    return t_unit


def reference(arguments: dict[str, Any], **variant: Any) -> dict[str, Any]:
    a, b, c, d = (arguments[name].astype(float) for name in "abcd")
    p = a + arguments["alpha"] * b
    return {"p": p, "q": c * p + arguments["beta"] * d}


KERNEL = KernelClass(
    name="triad",
    group="vector",
    build=build,
    variants=(
        {},
        {"launches": 2},
        {"width": 64},
        {"cells": 4},
        {"cells": 4, "order": "items"},
    ),
    sizes=Ladder(lambda e: ({"n": 2**e},), start=18, step=2, rungs=3),
    reference=reference,
    scalars=lambda **_: {"alpha": 1.75, "beta": 0.625},
    tags=("suites", "seen"),
    ranked=True,
)
