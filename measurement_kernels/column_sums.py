"""Sums down the columns of an array with more rows than a TLB has entries for their pages.

Each work-item sums a column of 8192 rows. Four rows of 256 cells share a page, but a row of 1024 cells fills a page: a
work-item touches more pages, and as many lines. Rows are a power of two long; with `pad` they are 16 cells longer.
"""

from __future__ import annotations

from typing import Any

import loopy as lp
import numpy as np

from perfmodel.kernels import KernelClass, Ladder

WIDTH = 64


def build(pad: int = 0) -> lp.TranslationUnit:
    t_unit = lp.make_kernel(
        "{[i, row]: 0 <= i < n and 0 <= row < k}",
        "out[i] = sum(row, a[row, i])",
        [
            lp.GlobalArg("a", np.float32, shape=f"k, n + {pad}"),
            lp.GlobalArg("out", np.float32, shape="n"),
            lp.ValueArg("n, k", np.int32),
        ],
        assumptions=f"n >= 1 and k >= 1 and n mod {WIDTH} = 0",
        name="column_sums",
        lang_version=(2018, 2),
    )
    return lp.split_iname(t_unit, "i", WIDTH, outer_tag="g.0", inner_tag="l.0")


def reference(arguments: dict[str, Any], **variant: Any) -> dict[str, Any]:
    return {"out": arguments["a"][:, : arguments["n"]].sum(axis=0, dtype=float)}


KERNEL = KernelClass(
    name="column_sums",
    group="pages",
    build=build,
    variants=({"pad": 0}, {"pad": 16}),
    sizes=Ladder(lambda e: ({"n": 2**e, "k": 8192},), start=8, rungs=4),
    reference=reference,
    tags=("context", "memory"),
    tolerance=1e-3,
)
