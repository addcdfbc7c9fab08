"""Matrix product c = a b of n by n matrices, in variants to choose among.

The variants are steps of a manual optimisation: "naive" reads all from global memory, "tiled" also
divides k into unrolled tiles, "prefetched_a" keeps tiles of the left factor in local memory and
"prefetched" tiles of both factors, and with "registers" each work-item forms `rows` by `columns`
elements from rows + columns numbers that it holds in registers.
"""

from __future__ import annotations

import loopy as lp
import numpy as np

from perfmodel.kernels import KernelClass, Ladder

TILE = 16
FETCHED = {"prefetched_a": "a", "prefetched": "ab", "registers": "ab"}
SWEEPS = {"a": ("i_in", "k_in"), "b": ("k_in", "j_in")}
STEPS = frozenset({"i_outer", "j_outer", "k_outer"})


def build(form: str = "naive", rows: int = 1, columns: int = 1) -> lp.TranslationUnit:
    t_unit = lp.make_kernel(
        "{[i, j, k]: 0 <= i, j, k < n}",
        "c[i, j] = sum(k, a[i, k]*b[k, j])",
        [lp.GlobalArg("a, b, c", np.float32, shape="n, n"), lp.ValueArg("n", np.int32)],
        assumptions=f"n >= 1 and n mod {TILE * max(rows, columns)} = 0",
        name=f"matmul_{form}",
        lang_version=(2018, 2),
        silenced_warnings=["v1_scheduler_fallback"],
    )
    t_unit = lp.split_iname(t_unit, "i", TILE * rows, inner_iname="i_in", outer_tag="g.1")
    t_unit = lp.split_iname(t_unit, "j", TILE * columns, inner_iname="j_in", outer_tag="g.0")
    if form != "naive":
        t_unit = lp.split_iname(t_unit, "k", TILE, inner_iname="k_in", inner_tag="unr" if form == "tiled" else None)
    for array in FETCHED.get(form, ""):
        t_unit = prefetch(t_unit, array)
    if form != "registers":
        return lp.tag_inames(t_unit, "i_in:l.1, j_in:l.0")
    t_unit = lp.split_iname(t_unit, "i_in", TILE, outer_iname="row", inner_tag="l.1", outer_tag="ilp.unr")
    t_unit = lp.split_iname(t_unit, "j_in", TILE, outer_iname="column", inner_tag="l.0", outer_tag="ilp.unr")
    t_unit = lp.split_array_axis(lp.split_array_axis(t_unit, "a_tile", 0, TILE), "b_tile", 1, TILE)
    for array, sweep in (("a", ["row"] * (rows > 1)), ("b", ["column"] * (columns > 1))):
        t_unit = lp.add_prefetch(
            t_unit,
            f"{array}_tile",
            sweep,
            fetch_outer_inames=STEPS | {"k_in", "i_in_inner", "j_in_inner"},
            temporary_name=f"{array}_registers",
            temporary_address_space=lp.AddressSpace.PRIVATE,
            default_tag="unr",
        )
    return t_unit


def prefetch(t_unit: lp.TranslationUnit, array: str) -> lp.TranslationUnit:
    """Keep the array's tile in local memory; work-items fetch TILE by TILE elements at once."""
    axes = [f"{array}_row", f"{array}_column"]
    t_unit = lp.add_prefetch(
        t_unit,
        array,
        list(SWEEPS[array]),
        fetch_outer_inames=STEPS,
        temporary_name=f"{array}_tile",
        dim_arg_names=axes,
        default_tag=None,
    )
    for axis, lane in zip(axes, ("l.1", "l.0"), strict=True):
        t_unit = lp.split_iname(t_unit, axis, TILE, inner_tag=lane, outer_tag="unr")
    return t_unit


KERNEL = KernelClass(
    name="matmul_variants",
    group="matmul",
    build=build,
    variants=(
        {"form": "naive"},
        {"form": "prefetched"},
        {"form": "registers", "rows": 4, "columns": 4},
        {"form": "tiled"},
        {"form": "registers", "rows": 4, "columns": 1},
        {"form": "prefetched_a"},
        {"form": "registers", "rows": 2, "columns": 2},
    ),
    sizes=Ladder(lambda e: ({"n": 2**e},), start=7),
    reference=lambda arguments, **_: {"c": arguments["a"] @ arguments["b"]},
    tags=("ranking", "local"),
    ranked=True,
)
