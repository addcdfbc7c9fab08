"""Tree sums over the work-items of a group: each step halves the number of adding work-items and has a barrier.

Each group sums `width` values for each of k rows. Loopy generates these steps for a reduction over l.0: in local
memory, with a barrier before each step.
"""

from __future__ import annotations

from typing import Any

import loopy as lp
import numpy as np

from perfmodel.kernels import KernelClass, Ladder


def build(width: int = 256, rows: int = 1, dtype: str = "float32") -> lp.TranslationUnit:
    t_unit = lp.make_kernel(
        f"{{[g, r, l]: 0 <= g < n and 0 <= r < {rows} and 0 <= l < {width}}}",
        "out[g, r] = sum(l, a[g, r, l])",
        [
            lp.GlobalArg("a", np.dtype(dtype), shape=f"n, {rows}, {width}"),
            lp.GlobalArg("out", np.dtype(dtype), shape=f"n, {rows}", is_input=None),
            lp.ValueArg("n", np.int32),
        ],
        assumptions="n >= 1",
        name=f"group_sums_{width}_{rows}_{dtype}",
        silenced_warnings=["write_race(insn)"],
        lang_version=(2018, 2),
    )
    return lp.tag_inames(t_unit, "g:g.0, l:l.0")


def reference(arguments: dict[str, Any], **variant: Any) -> dict[str, Any]:
    return {"out": arguments["a"].sum(axis=2, dtype=float)}


KERNEL = KernelClass(
    name="group_sums",
    group="halves",
    build=build,
    variants=(
        {"width": 256},
        {"width": 64},
        {"width": 128, "rows": 4},
        {"width": 32},
        {"width": 256, "dtype": "float64"},
    ),
    sizes=Ladder(lambda e: ({"n": 2**e},), start=7, step=2, rungs=3),
    reference=reference,
    tags=("context", "local"),
    tolerance=1e-3,
)
