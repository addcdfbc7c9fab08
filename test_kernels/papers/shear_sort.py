"""The base case of GPU-MMS: a group of 32 work-items sorts a square of 32 by 32 elements by a shearsort.

Karsin's dissertation (2018), section 7.3.1. Five times the rows are sorted, alternately up and down, then the columns;
last, the rows again. In each phase a work-item reads its row or column from local memory, sorts it in registers by a
bitonic network, and writes it back. Row r begins at bank r, so that neither rows nor columns have bank conflicts.
"""

from __future__ import annotations

import loopy as lp
import numpy as np

from perfmodel.kernels import KernelClass, Ladder
from test_kernels.papers._sorting import EXCHANGED, bitonic_sort, rows_in_order, sorting_kernel

WARP = 32
TURNS = WARP.bit_length() - 1

#: The cell of row {0} and column {1}.
CELL = f"tile[{WARP}*({{0}}) + ({{0}} + {{1}}) % {WARP}]"


def _phase(number: int, cell: str, sorted_key: str) -> str:
    """Return the text of a phase: a work-item loads, sorts and stores its elements k, in `cell`s."""
    return f"""
    for load{number}
        own[load{number}] = {cell.format(k=f"load{number}")}
    end
    {bitonic_sort("own", f"stage{number}", f"step{number}", f"pair{number}")}
    for store{number}
        {cell.format(k=f"store{number}")} = {sorted_key.format(k=f"store{number}")}
    end
    """


def build() -> lp.TranslationUnit:
    row, column = CELL.format("l", "{k}"), CELL.format("{k}", "l")
    by_turns = f"own[{{k}} if (l % 2) < 1 else {WARP - 1} - {{k}}]"
    phases = (_phase(0, row, by_turns), _phase(1, column, "own[{k}]"), _phase(2, row, "own[{k}]"))
    numbers = range(len(phases))
    loops = ", ".join(f"load{k}, store{k}" for k in numbers)
    t_unit = sorting_kernel(
        "shear_sort",
        [
            f"[blocks] -> {{[g, l, turn]: 0 <= g < blocks and 0 <= l < {WARP} and 0 <= turn < {TURNS}}}",
            f"{{[put, take, {loops}]: 0 <= put, take, {loops} < {WARP}}}",
            *(domain for k in numbers for domain in (
                f"{{[stage{k}]: 0 <= stage{k} < {TURNS}}}", f"[stage{k}] -> {{[step{k}]: 0 <= step{k} <= stage{k}}}",
                f"{{[pair{k}]: 0 <= pair{k} < {WARP // 2}}}",
            )),
        ],
        f"""
        for g, l
            for put
                {CELL.format("put", "l")} = a[g, {WARP}*put + l]
            end
            for turn
                {phases[0]}
                {phases[1]}
            end
            {phases[2]}
            for take
                out[g, {WARP}*take + l] = {CELL.format("take", "l")}
            end
        end
        """,
        [lp.GlobalArg("a, out", np.float32, shape=f"blocks, {WARP * WARP}"), lp.ValueArg("blocks", np.int32)],
        {**dict.fromkeys(("apart", "first", "second"), np.int32), **EXCHANGED},
        [
            lp.TemporaryVariable("tile", np.float32, shape=WARP * WARP, address_space=lp.AddressSpace.LOCAL),
            lp.TemporaryVariable("own", np.float32, shape=WARP, address_space=lp.AddressSpace.PRIVATE),
        ],
        "blocks >= 1",
    )  # fmt: skip
    for inside in ("load0", "store0", "load1", "store1"):
        t_unit = lp.prioritize_loops(t_unit, f"turn,{inside}")
    return lp.tag_inames(t_unit, {"g": "g.0", "l": "l.0"})


KERNEL = KernelClass(
    name="shear_sort",
    group="sorting",
    build=build,
    variants=({},),
    sizes=Ladder(lambda e: ({"blocks": 2**e},), start=4, step=2, rungs=3),
    reference=rows_in_order,
    tolerance=0.0,
    tags=("papers", "local"),
)
