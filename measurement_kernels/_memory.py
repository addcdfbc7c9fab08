"""Kernels that move data, which several kernel classes share.

They are sums over tiles, guarded and strided accesses, and copies through local memory.
Tiled sums: Stevens and Klöckner, section 4.1. A guard leaves out the last element of an axis. Strided arrays have the
shape (stride, n, k), column-major: work-item i reads cells stride*i, stride*i + 1, ... In a copy, another work-item
loads each cell of the tile.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import loopy as lp
import numpy as np

from perfmodel.kernels import WorkGroup, assume

TILES = 256  # columns that each work-item adds up


def filled_stride(rows: int, work_group: WorkGroup = (256,)) -> lp.TranslationUnit:
    """Each work-item adds up `rows` rows of 256 columns. The array has 256 * (work-group size) columns."""
    (width,) = work_group
    terms = (f"a[{row}, {width}*k + lane]" for row in range(rows))
    t_unit = lp.make_kernel(
        f"{{[g, lane, k]: 0 <= lane < {width} and 0 <= {width}*g + lane < n and 0 <= k < {TILES}}}",
        f"out[{width}*g + lane] = sum(k, {' + '.join(terms)})",
        [
            lp.GlobalArg("a", np.float32, shape=(rows, TILES * width), order="F"),
            lp.GlobalArg("out", np.float32, shape="n"), lp.ValueArg("n", np.int32),
        ],
        assumptions=assume(n=work_group), name=f"filled_stride{rows}", lang_version=(2018, 2),
    )
    t_unit = lp.tag_inames(t_unit, {"g": "g.0", "lane": "l.0"})
    t_unit = lp.add_prefetch(
        t_unit, "a", ["lane"], dim_arg_names=["part", "fetch_lane"], fetch_outer_inames=frozenset({"g", "k"}),
        temporary_name="a_tile", default_tag=None,
    )
    return lp.tag_inames(t_unit, {"part": "unr", "fetch_lane": "l.0"})


def tile_sums(arguments: dict[str, Any], work_group: WorkGroup, **variant: Any) -> dict[str, Any]:
    """Return the output of :func:`filled_stride`. Every work-group writes the same sums."""
    (width,) = work_group
    sums = arguments["a"].sum(axis=0).reshape(TILES, width).sum(axis=0)
    return {"out": np.resize(sums, arguments["n"])}


def end(size: str, guarded: bool) -> str:
    """Return where an axis ends, as Loopy writes it: ``n``, or ``n - 1`` without the last element."""
    return f"{size} - 1" if guarded else size


def stored(values: Any, before: Any, guarded: bool) -> Any:
    """Return the output of a kernel whose guard excludes the last element: `before` at that element, else `values`."""
    if not guarded:
        return values
    after = before.copy()
    after[..., :-1] = values[..., :-1]
    return after


def strided(
    statement: str, arguments: Iterable[lp.KernelArgument], cells: int, name: str, work_group: WorkGroup
) -> lp.TranslationUnit:
    """Run `statement` for each work-item i, slice r and cell o < `cells`. Add n and k to the `arguments`."""
    t_unit = lp.make_kernel(
        f"{{[i, r, o]: 0 <= i < n and 0 <= r < k and 0 <= o < {cells}}}", statement,
        [*arguments, lp.ValueArg("n, k", np.int32)], assumptions=assume(n=work_group, k=()), name=name,
        lang_version=(2018, 2),
    )
    t_unit = lp.split_iname(t_unit, "i", work_group[0], outer_tag="g.0", inner_tag="l.0")
    return lp.prioritize_loops(t_unit, "r, o")


def strides_in_turn(uses: Mapping[int, Sequence[int]]) -> tuple[dict[str, int], ...]:
    """Return variants of `uses` (numbers of cells by stride): first each stride with its first number, and so on."""
    longest = max(map(len, uses.values()))
    return tuple(
        {"stride": stride, "offsets": cells[turn]}
        for turn in range(longest) for stride, cells in uses.items() if turn < len(cells)
    )


def tile_copy(
    name: str, width: int, height: int, rows: int = 1, halo: int = 0, pad: int = 0, guarded: bool = False
) -> lp.TranslationUnit:
    """Copy an m by n array through tiles, each loaded with a halo of `halo` cells on every side.

    The input has a border of `halo` cells, which is not copied, and `pad` more cells in each row. A tile is stored with
    its last row first, so that a barrier is needed. With `guarded` the last column is not copied.
    """
    depth = height * rows
    t_unit = lp.make_kernel(
        [
            f"{{[gi, gj, i, j]: 0 <= i < {depth} and 0 <= j < {width} and 0 <= {depth}*gi + i < m"
            f" and 0 <= {width}*gj + j < {end('n', guarded)}}}",
            f"{{[r, c]: 0 <= r < {depth + 2 * halo} and 0 <= c < {width + 2 * halo}}}",
        ],
        f"""
        for gi, gj
            tile[r, c] = a[{depth}*gi + r, {width}*gj + c] {{id=fetch}}
            out[{depth}*gi + i, {width}*gj + j] = tile[{depth + 2 * halo - 1} - i, j + {2 * halo}] {{dep=fetch}}
        end
        """,
        [
            lp.GlobalArg("a", np.float32, shape=f"m + {2 * halo}, n + {2 * halo + pad}"),
            lp.GlobalArg("out", np.float32, shape="m, n", is_input=None),
            lp.TemporaryVariable(
                "tile", np.float32, shape=(depth + 2 * halo, width + 2 * halo), address_space=lp.AddressSpace.LOCAL
            ),
            lp.ValueArg("m, n", np.int32),
        ],
        assumptions=f"m >= 1 and n >= 1 and m mod {depth} = 0 and n mod {width} = 0",
        name=name,
        lang_version=(2018, 2),
    )
    t_unit = lp.split_iname(t_unit, "r", height, inner_tag="l.1", outer_tag=None if halo else "unr")
    t_unit = lp.split_iname(t_unit, "c", width, inner_tag="l.0", outer_tag=None if halo else "unr")
    t_unit = lp.split_iname(t_unit, "i", height, inner_tag="l.1", outer_tag="unr")
    return lp.prioritize_loops(lp.tag_inames(t_unit, "gi:g.1, gj:g.0, j:l.0"), "r_outer, c_outer")


def copied(
    arguments: dict[str, Any], height: int, rows: int = 1, halo: int = 0, guarded: bool = False, **variant: Any
) -> dict[str, Any]:
    """Return the output of :func:`tile_copy`."""
    m, n = arguments["m"], arguments["n"]
    inside = arguments["a"][2 * halo : 2 * halo + m, 2 * halo : 2 * halo + n]
    values = inside.reshape(-1, height * rows, n)[:, ::-1].reshape(m, n)
    return {"out": stored(values, arguments["out"], guarded)}
