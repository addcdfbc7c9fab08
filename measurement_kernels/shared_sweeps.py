"""Loops over a row or a column of an array that many work-items of a two-dimensional group share.

In "columns" the work-items of one column of the group read the same column of the array, neighbouring lanes read
neighbouring cells, and each trip of the loop reads the next row. In "rows" all lanes of a row of the group read the
same cell. In "across" neighbouring lanes read neighbouring rows, and the loop goes along the row. Rows are a power of
two long, so that they share few cache sets; with `pad` they are 16 cells longer.
"""

from __future__ import annotations

from typing import Any

import loopy as lp
import numpy as np

from perfmodel.kernels import KernelClass, Ladder

CELLS = {"columns": "a[step, j]", "rows": "a[i, step]", "across": "a[j, step]"}
"""What each form reads; the output has m rows and n columns."""


def build(of: str = "columns", pad: int = 0, width: int = 16, height: int = 16) -> lp.TranslationUnit:
    t_unit = lp.make_kernel(
        "{[i, j, step]: 0 <= i < m and 0 <= j, step < n}",
        f"out[i, j] = sum(step, {CELLS[of]})",
        [
            lp.GlobalArg("a", np.float32, shape=f"{'m' if of == 'rows' else 'n'}, n + {pad}"),
            lp.GlobalArg("out", np.float32, shape="m, n", is_input=None),
            lp.ValueArg("m, n", np.int32),
        ],
        assumptions=f"m >= 1 and n >= 1 and m mod {height} = 0 and n mod {width} = 0",
        name=f"shared_{of}",
        lang_version=(2018, 2),
    )
    t_unit = lp.split_iname(t_unit, "i", height, outer_tag="g.1", inner_tag="l.1")
    return lp.split_iname(t_unit, "j", width, outer_tag="g.0", inner_tag="l.0")


def reference(arguments: dict[str, Any], of: str, **variant: Any) -> dict[str, Any]:
    m, n = arguments["m"], arguments["n"]
    sums = arguments["a"][:, :n].sum(axis=0 if of == "columns" else 1, dtype=float)
    return {"out": np.broadcast_to(sums[:, np.newaxis] if of == "rows" else sums[np.newaxis, :], (m, n))}


KERNEL = KernelClass(
    name="shared_sweeps",
    group="shared",
    build=build,
    variants=(
        {"of": "columns"},
        {"of": "columns", "pad": 16},
        {"of": "columns", "width": 64, "height": 4},
        {"of": "rows"},
        {"of": "across"},
        {"of": "across", "pad": 16, "width": 64, "height": 4},
    ),
    sizes=Ladder(lambda e: ({"m": 16, "n": 2**e},), start=8, rungs=3),
    reference=reference,
    tags=("context", "memory"),
    tolerance=1e-3,
)
