"""Matrix product c = a b as in a library (MAGMA; Karsin 2018, chapter 5): tiles in local memory and in registers.

A work-group of b work-items forms a tile of c with `tile` (N_TB) rows and columns. In each step it stages `tile` by
`depth` (lambda) elements of a, and as many of b, in local memory; each work-item adds the products to tile^2/b partial
sums in registers. n, m and k are separate sizes, so that the time can be studied against k alone.

`group` is the work-group's width and height. With `wide` its work-items are regrouped for loads, as in MAGMA: a
warp of 32 reads 32 neighbouring elements if a row of the factor's tile has 32 or more. One variant has a work-item for
each element of its tile: its group is too large for common devices, and is recorded as a failure.
"""

from __future__ import annotations

import loopy as lp
import numpy as np

from perfmodel.kernels import KernelClass, Ladder

SIDE = 384  # a multiple of every tile
LENGTHS = (64, 128, 256, 512)  # k
STEPS = frozenset({"i_outer", "j_outer", "k_outer"})
SWEEPS = {"a": ["i_in", "k_in"], "b": ["k_in", "j_in"]}


def register_tiled_product(
    t_unit: lp.TranslationUnit,
    width: int,
    height: int,
    rows: int,
    columns: int,
    depth: int,
    prefetch: str = "ab",
    unroll: bool = False,
    order: str = "ij",
    compact: bool = False,
    wide: int = 0,
) -> lp.TranslationUnit:
    """Tile c[i, j] = sum(k, a[i, k] b[k, j]) over work-groups, and each work-group's tile over its work-items.

    A group of `width` by `height` work-items forms a tile of c, each of them `rows` by `columns` elements, from
    numbers that it holds in registers. The loop over k goes in steps of `depth`, unrolled on demand. `prefetch` names
    the factors ("", "a", "b", "ab") with a tile in local memory. With `order` "ij" neighbouring work-items,
    and groups, take neighbouring columns, with "ji" neighbouring rows. Where an axis of a factor's tile is shorter than
    the group, work-items are idle while it is loaded. With `compact` an array of registers has no unused
    element (a tile then has an axis for the elements of one work-item); compilers also remove unused elements.

    With `wide`, a multiple of `width`, the work-items are regrouped to load a tile: `wide` neighbours load
    neighbouring elements if a row of the tile has `wide` or more.
    """
    across, along = ("j", "i") if order == "ij" else ("i", "j")
    items = {across: width, along: height}
    tiles = {"i": items["i"] * rows, "j": items["j"] * columns}
    for axis, place in ((across, 0), (along, 1)):
        t_unit = lp.split_iname(t_unit, axis, tiles[axis], inner_iname=f"{axis}_in", outer_tag=f"g.{place}")
    t_unit = lp.split_iname(t_unit, "k", depth, inner_iname="k_in", inner_tag="unr" if unroll else None)
    for array in prefetch:
        row = depth if array == "a" else tiles["j"]
        t_unit = _keep_tile(t_unit, array, width, height, wide // width if wide and row % wide == 0 else 1)
    for axis, place in ((across, 0), (along, 1)):
        outer = {"i": "row", "j": "column"}[axis]
        t_unit = lp.split_iname(
            t_unit, f"{axis}_in", items[axis], outer_iname=outer, inner_iname=f"{axis}_item",
            inner_tag=f"l.{place}", outer_tag="ilp.unr",
        )  # fmt: skip
    for array, number, axis in (("a", 0, "i"), ("b", 1, "j")):
        if compact and array in prefetch:
            t_unit = lp.split_array_axis(t_unit, f"{array}_tile", number, items[axis])
    return _hold_in_registers(t_unit, prefetch, rows, columns) if rows * columns > 1 else t_unit


def _keep_tile(t_unit: lp.TranslationUnit, array: str, width: int, height: int, rows: int = 1) -> lp.TranslationUnit:
    """Keep the array's tile in local memory; neighbouring work-items fetch neighbouring elements.

    `rows` rows of the group's work-items fetch elements of one row.
    """
    axes = [f"{array}_row", f"{array}_column"]
    t_unit = lp.add_prefetch(
        t_unit,
        array,
        SWEEPS[array],
        fetch_outer_inames=STEPS,
        temporary_name=f"{array}_tile",
        dim_arg_names=axes,
        default_tag=None,
    )
    if rows == 1:
        for axis, items, lane in zip(axes, (height, width), ("l.1", "l.0"), strict=True):
            t_unit = lp.split_iname(t_unit, axis, items, inner_tag=lane)
        return t_unit
    row, column = axes
    t_unit = lp.split_iname(t_unit, row, height // rows, inner_iname=f"{row}_in")
    t_unit = lp.split_iname(t_unit, column, rows * width, inner_iname=f"{column}_in")
    t_unit = lp.split_iname(t_unit, f"{column}_in", width, outer_iname=f"{column}_part", inner_tag="l.0")
    t_unit = lp.join_inames(t_unit, [f"{row}_in", f"{column}_part"], f"{row}_lane")
    return lp.tag_inames(t_unit, {f"{row}_lane": "l.1"})


def _hold_in_registers(t_unit: lp.TranslationUnit, prefetch: str, rows: int, columns: int) -> lp.TranslationUnit:
    """Each work-item reads an element of a factor once for all products with this element."""
    for array, sweep in (("a", ["row"] if rows > 1 else []), ("b", ["column"] if columns > 1 else [])):
        t_unit = lp.add_prefetch(
            t_unit,
            f"{array}_tile" if array in prefetch else array,
            sweep,
            fetch_outer_inames=STEPS | {"k_in", "i_item", "j_item"},
            temporary_name=f"{array}_registers",
            temporary_address_space=lp.AddressSpace.PRIVATE,
            default_tag="unr",
        )
    return t_unit


def build(tile: int, depth: int, group: tuple[int, int], wide: int = 0) -> lp.TranslationUnit:
    width, height = group
    t_unit = lp.make_kernel(
        "{[i, j, k]: 0 <= i < n and 0 <= j < m and 0 <= k < k_size}",
        "c[i, j] = sum(k, a[i, k]*b[k, j])",
        [
            lp.GlobalArg("a", np.float32, shape="n, k_size"),
            lp.GlobalArg("b", np.float32, shape="k_size, m"),
            lp.GlobalArg("c", np.float32, shape="n, m"),
            lp.ValueArg("n, m, k_size", np.int32),
        ],
        assumptions=" and ".join(
            f"{size} >= {unit} and {size} mod {unit} = 0"
            for size, unit in (("n", tile), ("m", tile), ("k_size", depth))
        ),
        name="gemm",
        lang_version=(2018, 2),
        silenced_warnings=["v1_scheduler_fallback"],
    )
    rows, columns = tile // height, tile // width
    t_unit = register_tiled_product(t_unit, width, height, rows, columns, depth, compact=True, wide=wide)
    return lp.rename_argument(t_unit, "k_size", "k")


KERNEL = KernelClass(
    name="gemm",
    group="matmul",
    build=build,
    variants=(
        *(
            {"tile": tile, "depth": depth, "group": group}
            for depth, group, tiles in (
                (16, (16, 16), (96, 16, 32, 48, 64, 128, 192)),  # 96 is MAGMA's
                (16, (96, 96), (96,)),  # one element a work-item
                (8, (16, 16), (32, 64, 128)),
                (32, (16, 16), (64, 96)),
                (16, (16, 8), (32, 64)),
                (16, (8, 8), (32, 64, 96)),
                (8, (8, 8), (32, 64)),
            )
            for tile in tiles
        ),
        *({"tile": tile, "depth": depth, "group": (16, 16), "wide": 32} for tile, depth in ((96, 16), (64, 32))),
    ),
    sizes=Ladder(
        lambda e: tuple({"n": SIDE * 2**e, "m": SIDE * 2**e, "k": k} for k in LENGTHS), start=0, rungs=3
    ),
    reference=lambda arguments, **_: {"c": arguments["a"] @ arguments["b"]},
    tags=("papers", "ranking", "local"),
    ranked=True,
)
