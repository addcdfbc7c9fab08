"""Sparse matrix times vector, n rows with k entries each in the format ELLPACK.

The SHOC kernel of this name, with random columns.  `layout` stores the entries row by row, or all first
entries before all second ones ("entries"), so that neighbouring lanes read neighbouring cells; the loop is unrolled
`unroll` times.
"""

from __future__ import annotations

from typing import Any

import loopy as lp
import numpy as np

from perfmodel.kernels import KernelClass, Ladder

LAYOUTS = {"rows": "N1,N0", "entries": "N0,N1"}


def build(layout: str = "entries", width: int = 256, unroll: int = 1) -> lp.TranslationUnit:
    t_unit = lp.make_kernel(
        "{[i, r]: 0 <= i < n and 0 <= r < k}",
        "y[i] = sum(r, entry[i, r]*x[column[i, r]])",
        [
            lp.GlobalArg("entry", np.float32, shape="n, k", dim_tags=LAYOUTS[layout]),
            lp.GlobalArg("column", np.int32, shape="n, k", dim_tags=LAYOUTS[layout]),
            lp.GlobalArg("x, y", np.float32, shape="n"),
            lp.ValueArg("n, k", np.int32),
        ],
        assumptions=f"n >= 1 and n mod {width} = 0 and k >= 1 and k mod 4 = 0",
        name="spmv_ell",
        lang_version=(2018, 2),
    )
    t_unit = lp.split_iname(t_unit, "i", width, outer_tag="g.0", inner_tag="l.0")
    return lp.split_iname(t_unit, "r", unroll, inner_tag="unr") if unroll > 1 else t_unit


def columns(generator: np.random.Generator, shape: tuple[int, ...]) -> Any:
    """Columns of the entries, each between 0 and n - 1, shape (n, k)."""
    return generator.integers(0, shape[0], shape).astype(np.int32)


def reference(arguments: dict[str, Any], **variant: Any) -> dict[str, Any]:
    return {"y": (arguments["entry"].astype(float) * arguments["x"][arguments["column"]]).sum(axis=1)}


KERNEL = KernelClass(
    name="spmv_ell",
    group="sparse",
    build=build,
    variants=(
        {},
        {"layout": "rows"},
        {"width": 64},
        {"unroll": 4},
        {"layout": "rows", "unroll": 4},
    ),
    sizes=Ladder(lambda e: ({"n": 2**e, "k": 32},), start=13, step=2, rungs=3),
    reference=reference,
    contents={"column": columns},
    tags=("suites", "aside"),
    ranked=True,
)
