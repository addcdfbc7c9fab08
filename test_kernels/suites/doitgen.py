"""Product of a three-dimensional array with a matrix along its last axis: out[r, q, p] = sum_s a[r, q, s] c4[s, p].

The PolyBench kernel of this name, with m by n rows of 64 numbers, and not in place.  Groups have 16 by 16
work-items, with lanes along p or, with `lanes` "q", along q.  With `prefetch` a group keeps tiles of c4, or
of both factors, in local memory; a work-item forms `outputs` elements at distances of 16.
"""

from __future__ import annotations

from typing import Any

import loopy as lp
import numpy as np

from perfmodel.kernels import KernelClass, Ladder

LENGTH, TILE = 64, 16
SWEEPS = {"c4": ("s_in", "p_in"), "a": ("q_in", "s_in")}


def build(lanes: str = "p", prefetch: str = "", outputs: int = 1) -> lp.TranslationUnit:
    t_unit = lp.make_kernel(
        f"{{[r, q, p, s]: 0 <= r < m and 0 <= q < n and 0 <= p, s < {LENGTH}}}",
        "out[r, q, p] = sum(s, a[r, q, s]*c4[s, p])",
        [
            lp.GlobalArg("a, out", np.float32, shape=f"m, n, {LENGTH}"),
            lp.GlobalArg("c4", np.float32, shape=(LENGTH, LENGTH)),
            lp.ValueArg("m, n", np.int32),
        ],
        assumptions=f"m >= 1 and n >= 1 and n mod {TILE} = 0",
        name="doitgen",
        lang_version=(2018, 2),
        silenced_warnings=["v1_scheduler_fallback"],
    )
    second = "q" if lanes == "p" else "p"
    t_unit = lp.tag_inames(t_unit, "r:g.2")
    t_unit = lp.split_iname(t_unit, second, TILE, inner_iname=f"{second}_in", outer_tag="g.1", inner_tag="l.1")
    t_unit = lp.split_iname(t_unit, lanes, TILE * outputs, inner_iname=f"{lanes}_in", outer_tag="g.0")
    if outputs == 1:
        t_unit = lp.tag_inames(t_unit, f"{lanes}_in:l.0")
    if prefetch:
        t_unit = lp.split_iname(t_unit, "s", TILE, inner_iname="s_in")
        for array in prefetch.split("+"):
            t_unit = lp.add_prefetch(
                t_unit,
                array,
                list(SWEEPS[array]),
                fetch_outer_inames=frozenset({"r", "q_outer", "p_outer", "s_outer"}),
                temporary_name=f"{array}_tile",
                default_tag="l.auto",
            )
        t_unit = lp.prioritize_loops(t_unit, "s_outer, s_in")
    if outputs == 1:
        return t_unit
    return lp.split_iname(t_unit, f"{lanes}_in", TILE, inner_tag="l.0", outer_tag="ilp.unr")


def reference(arguments: dict[str, Any], **variant: Any) -> dict[str, Any]:
    return {"out": arguments["a"].astype(float) @ arguments["c4"].astype(float)}


KERNEL = KernelClass(
    name="doitgen",
    group="doitgen",
    build=build,
    variants=(
        {},
        {"prefetch": "c4"},
        {"prefetch": "c4+a"},
        {"lanes": "q"},
        {"outputs": 4},
    ),
    sizes=Ladder(lambda e: ({"m": 2**e, "n": 32},), start=3, rungs=3),
    reference=reference,
    tags=("suites", "aside"),
    ranked=True,
)
