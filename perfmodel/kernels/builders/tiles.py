"""Tiled kernels: the matrix product c = a b, and five-point finite differences with a quadratic source term.

Tiles lie in local memory, and those of c in registers too. Stevens and Kloeckner, sections 4.1 and 5, have
:func:`tiled_product` and the differences; Karsin (2018), chapter 5, has :func:`register_tiled_product`.
"""

from __future__ import annotations

from typing import Any

import loopy as lp
import numpy as np

from perfmodel.kernels.kernel_class import WorkGroup, assume

STEPS = frozenset({"i_outer", "j_outer", "k_outer"})
SWEEPS = {"a": ["i_in", "k_in"], "b": ["k_in", "j_in"]}


def tiled_product(name: str, work_group: WorkGroup = (16, 16)) -> lp.TranslationUnit:
    """Form c, of n by l elements, from a (n by m) and b; each work-group forms a tile of c.

    The loop over k goes in steps of the tile's width.
    """
    tile = work_group[0]
    t_unit = lp.make_kernel(
        "{[i, j, k]: 0 <= i < n and 0 <= j < l and 0 <= k < m}",
        "c[i, j] = sum(k, a[i, k]*b[k, j])",
        [
            lp.GlobalArg("a", np.float32, shape="n, m"),
            lp.GlobalArg("b", np.float32, shape="m, l"),
            lp.GlobalArg("c", np.float32, shape="n, l"),
            lp.ValueArg("n, m, l", np.int32),
        ],
        assumptions=assume(n=work_group, m=(tile,), l=work_group),
        name=name,
        lang_version=(2018, 2),
    )
    t_unit = lp.split_iname(t_unit, "i", work_group[1], outer_tag="g.1", inner_tag="l.1")
    t_unit = lp.split_iname(t_unit, "j", tile, outer_tag="g.0", inner_tag="l.0")
    t_unit = lp.split_iname(t_unit, "k", tile)
    for array, sweep in (("a", ["i_inner", "k_inner"]), ("b", ["k_inner", "j_inner"])):
        t_unit = lp.add_prefetch(
            t_unit,
            array,
            sweep,
            fetch_outer_inames=frozenset({"i_outer", "j_outer", "k_outer"}),
            temporary_name=f"{array}_tile",
            default_tag="l.auto",
        )
    return t_unit


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
    the factors ("", "a", "b", "ab") of which a tile lies in local memory. With `order` "ij" neighbouring work-items,
    and groups, take neighbouring columns, with "ji" neighbouring rows. Where an axis of a factor's tile is shorter than
    the group, work-items are idle while it is loaded. With `compact` an array of registers has no element that is not
    used (a tile then has an axis for the elements of one work-item); compilers take the others out as well.

    With `wide`, a multiple of `width`, the work-items are grouped anew to load a tile: so many neighbours load
    neighbouring elements, where a row of the tile has as many.
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

    So many `rows` of the group's work-items fetch elements of one row.
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
    """Each work-item reads an element of either factor once for all the products that it takes part in."""
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


def product(arguments: dict[str, Any], **variant: Any) -> dict[str, Any]:
    """Return the product of the matrices a and b."""
    return {"c": arguments["a"] @ arguments["b"]}


SOURCE = 9.0


def differences_kernel(name: str, assumptions: str) -> lp.TranslationUnit:
    """Make the kernel, without any transformation."""
    return lp.make_kernel(
        "{[i, j]: 0 <= i, j < n}",
        """
        result[i + 1, j + 1] = (
            u[i + 1, j + 1]**2 + source + (-4)*u[i + 1, j + 1]
            + u[i + 2, j + 1] + u[i, j + 1] + u[i + 1, j + 2] + u[i + 1, j]
        )
        """,
        [
            lp.GlobalArg("result, u", np.float32, shape="n + 2, n + 2", is_input=None),
            lp.ValueArg("source", np.float32),
            lp.ValueArg("n", np.int32),
        ],
        assumptions=assumptions,
        name=name,
        lang_version=(2018, 2),
    )


def tiled_stencil(
    t_unit: lp.TranslationUnit, array: str, width: int, height: int, rows: int, prefetch: bool, unroll: bool = True
) -> lp.TranslationUnit:
    """Split a kernel of i and j into tiles of width by height*rows cells, `rows` of them of each work-item in a loop.

    With `prefetch` the array's cells of a tile lie in local memory, with their halo.
    """
    t_unit = lp.split_iname(t_unit, "i", height * rows, inner_iname="i_in", outer_tag="g.1")
    t_unit = lp.split_iname(t_unit, "j", width, inner_iname="j_in", outer_tag="g.0")
    if prefetch:
        t_unit = lp.add_prefetch(
            t_unit,
            array,
            ["i_in", "j_in"],
            fetch_bounding_box=True,
            fetch_outer_inames=frozenset({"i_outer", "j_outer"}),
            dim_arg_names=["row", "column"],
            temporary_name=f"{array}_tile",
            default_tag=None,
        )
        t_unit = lp.split_iname(t_unit, "row", height, inner_tag="l.1")
        t_unit = lp.split_iname(t_unit, "column", width, inner_tag="l.0")
    t_unit = lp.tag_inames(t_unit, "j_in:l.0")
    return lp.split_iname(t_unit, "i_in", height, inner_tag="l.1", outer_tag="unr" if unroll else None)


def differences(arguments: dict[str, Any], **variant: Any) -> dict[str, Any]:
    """Return the result, whose border is not written."""
    u, result = arguments["u"], arguments["result"].copy()
    middle = u[1:-1, 1:-1]
    neighbours = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]
    result[1:-1, 1:-1] = middle**2 + arguments["source"] - 4 * middle + neighbours
    return {"result": result}
