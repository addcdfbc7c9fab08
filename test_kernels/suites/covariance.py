"""Means of the m columns of a table with n rows, and the covariances of all pairs of columns.

The PolyBench/GPU kernel of this name.  A first launch computes the means; the second launch centres the numbers
where it reads them.  Groups of `width` by `height` work-items form `rows` covariances each.  With `prefetch` a group
keeps tiles of centred numbers in local memory; with `layout` "columns" the table is stored column by column.
"""

from __future__ import annotations

from typing import Any

import loopy as lp
import numpy as np

from perfmodel.kernels import KernelClass, Ladder

TILE = 16
LAYOUTS = {"rows": "N1,N0", "columns": "N0,N1"}


def build(
    width: int = 16,
    height: int = 16,
    rows: int = 1,
    layout: str = "rows",
    prefetch: bool = False,
    dtype: str = "float64",
) -> lp.TranslationUnit:
    t_unit = lp.make_kernel(
        "{[i, j, c, k, r]: 0 <= i, j, c < m and 0 <= k, r < n}",
        """
        first(p, q) := table[p, q] - mean[q]
        second(q, p) := table[p, q] - mean[q]
        mean[c] = sum(r, table[r, c])/n {id=mean}
        ... gbarrier {id=wait, dep=mean}
        covariance[i, j] = sum(k, first(k, i)*second(j, k))/(n - 1) {dep=wait}
        """,
        [
            lp.GlobalArg("table", np.dtype(dtype), shape="n, m", dim_tags=LAYOUTS[layout]),
            lp.GlobalArg("covariance", np.dtype(dtype), shape="m, m"),
            lp.GlobalArg("mean", np.dtype(dtype), shape="m", is_input=False),
            lp.ValueArg("n, m", np.int32),
        ],
        assumptions=f"n >= 2 and n mod {TILE} = 0 and m >= 1 and m mod {max(width, height * rows)} = 0",
        name="covariance",
        lang_version=(2018, 2),
        silenced_warnings=["v1_scheduler_fallback"],
    )
    t_unit = lp.split_iname(t_unit, "c", TILE, outer_tag="g.0", inner_tag="l.0")
    t_unit = lp.split_iname(t_unit, "i", height * rows, inner_iname="i_in", outer_tag="g.1")
    t_unit = lp.split_iname(t_unit, "j", width, inner_iname="j_in", outer_tag="g.0", inner_tag="l.0")
    if prefetch:
        t_unit = lp.split_iname(t_unit, "k", TILE, inner_iname="k_in")
        for rule, axes in (("first", "ki"), ("second", "jk")):
            t_unit = lp.precompute(
                t_unit,
                rule,
                [f"{axis}_in" for axis in axes],
                precompute_inames=[f"{rule}_{axis}" for axis in axes],
                precompute_outer_inames=frozenset({"i_outer", "j_outer", "k_outer"}),
                temporary_name=f"{rule}_tile",
                default_tag=None,
            )
            # neighbouring lanes read neighbouring cells of a row
            t_unit = lp.tag_inames(t_unit, {f"{rule}_{axis}": "l.1" if axis == "k" else "l.0" for axis in axes})
        t_unit = lp.prioritize_loops(t_unit, "k_outer, k_in")
    if rows == 1:
        return lp.tag_inames(t_unit, "i_in:l.1")
    return lp.split_iname(t_unit, "i_in", height, inner_tag="l.1", outer_tag="ilp.unr")


def reference(arguments: dict[str, Any], **variant: Any) -> dict[str, Any]:
    table = arguments["table"]
    return {"mean": table.mean(axis=0), "covariance": np.cov(table, rowvar=False)}


KERNEL = KernelClass(
    name="covariance",
    group="covariance",
    build=build,
    variants=tuple(
        {**form, "dtype": "float64"}
        for form in (
            {},
            {"prefetch": True},
            {"layout": "columns"},
            {"width": 32, "height": 4},
            {"width": 16, "height": 8, "rows": 4},
        )
    ),
    sizes=Ladder(lambda e: ({"m": 2**e, "n": 256},), start=5, rungs=3),
    reference=reference,
    tags=("suites", "aside"),
    ranked=True,
)
