"""Sums of 1 to 5 loads of one array at distances of 1 cell or 1 row, without a loop.

"columns": the loads of a work-item are next to each other in a row, so a vector load may begin anywhere in a line.
"rows": they are next to each other in a column, so each is a separate stream, which another work-item loads too.
Rows are `HALO` cells longer than in the output, so most rows do not begin at the start of a line.
A work-item stores `rows` cells, one below the other in a tile of the work-group.
"""

from __future__ import annotations

from typing import Any

import loopy as lp
import numpy as np

from perfmodel.kernels import KernelClass, Ladder

from ._memory import end, stored

HALO = 4
"""Cells and rows by which the input is larger than the output."""

CELLS = {"columns": "a[i, j + {shift}]", "rows": "a[i + {shift}, j]"}


def build(
    along: str = "columns", loads: int = 3, width: int = 64, height: int = 4, rows: int = 1, guarded: bool = False
) -> lp.TranslationUnit:
    depth = height * rows
    t_unit = lp.make_kernel(
        f"{{[i, j]: 0 <= i < m and 0 <= j < {end('n', guarded)}}}",
        f"out[i, j] = {' + '.join(CELLS[along].format(shift=shift) for shift in range(HALO, HALO - loads, -1))}",
        [
            lp.GlobalArg("a", np.float32, shape=f"m + {HALO}, n + {HALO}"),
            lp.GlobalArg("out", np.float32, shape="m, n", is_input=None),
            lp.ValueArg("m, n", np.int32),
        ],
        assumptions=f"m >= 1 and n >= 1 and m mod {depth} = 0 and n mod {width} = 0",
        name=f"shifted_{along}_{loads}",
        lang_version=(2018, 2),
    )
    t_unit = lp.split_iname(t_unit, "i", depth, inner_iname="cell", outer_tag="g.1")
    t_unit = lp.split_iname(t_unit, "cell", height, inner_tag="l.1", outer_tag="unr")
    return lp.split_iname(t_unit, "j", width, outer_tag="g.0", inner_tag="l.0")


def reference(
    arguments: dict[str, Any], along: str, loads: int, guarded: bool = False, **variant: Any
) -> dict[str, Any]:
    a, m, n = arguments["a"], arguments["m"], arguments["n"]
    shifts = range(HALO, HALO - loads, -1)
    cells = [a[:m, s : s + n] if along == "columns" else a[s : s + m, :n] for s in shifts]
    return {"out": stored(sum(cells), arguments["out"], guarded)}


KERNEL = KernelClass(
    name="shifted_loads",
    group="shifted",
    build=build,
    variants=(
        {"along": "columns", "loads": 1},
        {"along": "columns", "loads": 3, "width": 16, "height": 16},
        {"along": "columns", "loads": 5},
        {"along": "columns", "loads": 3, "width": 256, "height": 1, "rows": 4},
        {"along": "rows", "loads": 2, "width": 256, "height": 1},
        {"along": "rows", "loads": 5},
        {"along": "rows", "loads": 4, "width": 32, "height": 8, "rows": 4},
        {"along": "columns", "loads": 4, "guarded": True},
    ),
    sizes=Ladder(lambda e: ({"m": 2 ** (e - 1), "n": 2**e},), start=8, step=2, rungs=3),
    reference=reference,
    tags=("context", "memory"),
)
