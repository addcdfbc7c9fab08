"""A short row of each work-item against every row of a small table: two nested loops with constant trip counts.

A work-item multiplies its `length` values with each of `rows` rows of the table and keeps the largest of the sums.
Every trip of the outer loop reads the same values of the work-item: a compiler that unrolls the inner loop can keep
them in registers. With `layout` "lanes" neighbouring lanes have neighbouring values, with "rows" the values of a
work-item are neighbours.
"""

from __future__ import annotations

from typing import Any

import loopy as lp
import numpy as np

from perfmodel.kernels import KernelClass, Ladder

WIDTH = 128
LAYOUTS = {"rows": "N1,N0", "lanes": "N0,N1"}


def build(
    layout: str = "lanes", length: int = 8, rows: int = 8, unroll: bool = False, dtype: str = "float32"
) -> lp.TranslationUnit:
    real = np.dtype(dtype)
    t_unit = lp.make_kernel(
        f"{{[i, r, c]: 0 <= i < n and 0 <= r < {rows} and 0 <= c < {length}}}",
        "out[i] = max(r, sum(c, a[i, c]*table[r, c]))",
        [
            lp.GlobalArg("a", real, shape=f"n, {length}", dim_tags=LAYOUTS[layout]),
            lp.GlobalArg("table", real, shape=(rows, length)),
            lp.GlobalArg("out", real, shape="n", is_input=None),
            lp.ValueArg("n", np.int32),
        ],
        assumptions=f"n >= 1 and n mod {WIDTH} = 0",
        name=f"tables_{layout}_{length}_{rows}",
        lang_version=(2018, 2),
    )
    t_unit = lp.split_iname(t_unit, "i", WIDTH, outer_tag="g.0", inner_tag="l.0")
    return lp.tag_inames(t_unit, "c:unr") if unroll else t_unit


def reference(arguments: dict[str, Any], **variant: Any) -> dict[str, Any]:
    return {"out": (arguments["a"].astype(float) @ arguments["table"].T.astype(float)).max(axis=1)}


KERNEL = KernelClass(
    name="short_tables",
    group="tables",
    build=build,
    variants=(
        {"layout": "lanes"},
        {"layout": "rows"},
        {"layout": "lanes", "length": 12, "rows": 5, "unroll": True},
        {"layout": "rows", "length": 6, "rows": 20, "unroll": True},
        {"layout": "lanes", "length": 4, "rows": 24, "dtype": "float64"},
        {"layout": "rows", "length": 24, "rows": 6},
    ),
    sizes=Ladder(lambda e: ({"n": 2**e},), start=12, step=2, rungs=3),
    reference=reference,
    tags=("context", "arithmetic"),
    tolerance=1e-3,
)
