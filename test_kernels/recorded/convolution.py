"""A 2-D convolution with a filter of 15 by 15 in float32, in the space of Kernel Tuner's `convolution15`.

A work-group has `block_size_x` by `block_size_y` work-items. Each forms `tile_size_x` by `tile_size_y` outputs at
distances of `block_size_x` columns and `block_size_y` rows. With `use_shmem` the group first copies its part of the
image to local memory; `use_padding` widens the rows there. Sums stay in registers; both loops over the filter are
unrolled.

The filter lies in constant memory, and a work-item loads each of its cells once for all its outputs. `read_only` does
not change the kernel: OpenCL has no load for the read-only path, and Loopy always declares the image as read-only.
"""

from __future__ import annotations

from typing import Any

import loopy as lp
import numpy as np

EXTENT = 15  # rows and columns of the filter
HALO = EXTENT - 1
SIZE = 4096  # rows and columns of the output, where the times were recorded
BANKS = 32
LOCAL_CELLS = 12 * 1024


def kernel(
    block_size_x: int,
    block_size_y: int,
    tile_size_x: int,
    tile_size_y: int,
    read_only: int = 0,
    use_padding: int = 0,
    use_shmem: int = 1,
    use_cmem: int = 1,
    filter_width: int = EXTENT,
    filter_height: int = EXTENT,
) -> lp.TranslationUnit:
    if (use_cmem, filter_width, filter_height) != (1, EXTENT, EXTENT):
        raise ValueError(f"the filter has {EXTENT} rows and columns, and lies in constant memory")
    columns, rows = block_size_x * tile_size_x, block_size_y * tile_size_y
    inside = f"{rows}*gy + {block_size_y}*{{0}} + ly < n and {columns}*gx + {block_size_x}*{{1}} + lx < n"
    outputs = f"0 <= {{0}} < {tile_size_y} and 0 <= {{1}} < {tile_size_x}"
    sums = outputs if use_shmem else f"{outputs} and {inside}"  # no image is read beyond its end
    domains = [
        f"{{[gy, gx]: 0 <= {rows}*gy < n and 0 <= {columns}*gx < n}}",
        f"{{[ly, lx, fy, fx]: 0 <= ly < {block_size_y} and 0 <= lx < {block_size_x} and 0 <= fy, fx < {EXTENT}}}",
        f"{{[y_start, x_start]: {outputs.format('y_start', 'x_start')}}}",
        f"{{[y, x]: {sums.format('y', 'x')}}}",
        f"{{[y_end, x_end]: {outputs.format('y_end', 'x_end')} and {inside.format('y_end', 'x_end')}}}",
    ]
    arrays = [
        lp.GlobalArg("image", np.float32, shape=f"n + {HALO}, n + {HALO}"),
        lp.ConstantArg("filter", np.float32, shape=(EXTENT, EXTENT)),
        lp.GlobalArg("out", np.float32, shape="n, n"),
        lp.ValueArg("n", np.int32),
        lp.TemporaryVariable(
            "sums", np.float32, shape=(tile_size_y, tile_size_x), address_space=lp.AddressSpace.PRIVATE
        ),
    ]
    if use_shmem:
        domains.append(
            f"{{[row, column]: 0 <= row < {rows + HALO} and 0 <= column < {columns + HALO}"
            f" and {rows}*gy + row < n + {HALO} and {columns}*gx + column < n + {HALO}}}"
        )
        width = columns + HALO + (padding(block_size_x, tile_size_x) if use_padding else 0)
        arrays.append(
            lp.TemporaryVariable("tile", np.float32, shape=(rows + HALO, width), address_space=lp.AddressSpace.LOCAL)
        )
    place = f"{block_size_y}*y + ly + fy", f"{block_size_x}*x + lx + fx"
    source = f"tile[{place[0]}, {place[1]}]"
    if not use_shmem:
        source = f"image[{rows}*gy + {place[0]}, {columns}*gx + {place[1]}]"
    t_unit = lp.make_kernel(
        domains,
        f"""
        for gy, gx
            {f"tile[row, column] = image[{rows}*gy + row, {columns}*gx + column] {{id=copy}}" if use_shmem else ""}
            for ly, lx
                sums[y_start, x_start] = 0 {{id=start}}
                for fy, fx
                    <> weight = filter[fy, fx] {{id=weigh}}
                    sums[y, x] = sums[y, x] + weight*{source} {{id=add, dep=start:weigh{":copy" if use_shmem else ""}}}
                end
                out[{rows}*gy + {block_size_y}*y_end + ly, {columns}*gx + {block_size_x}*x_end + lx] = (
                    sums[y_end, x_end]) {{dep=add}}
            end
        end
        """,
        arrays,
        assumptions="n >= 1" + _multiple(columns, rows),
        name="convolution",
        lang_version=(2018, 2),
        silenced_warnings=["v1_scheduler_fallback"],
    )
    if use_shmem:
        t_unit = lp.split_iname(t_unit, "row", block_size_y, inner_tag="l.1")
        t_unit = lp.split_iname(t_unit, "column", block_size_x, inner_tag="l.0")
    t_unit = lp.tag_inames(t_unit, "gy:g.1, gx:g.0, ly:l.1, lx:l.0")
    t_unit = lp.tag_inames(t_unit, dict.fromkeys((*"yx", "y_start", "x_start", "y_end", "x_end"), "unr"))
    return lp.prioritize_loops(t_unit, "fy, fx, y, x")


def _multiple(*tiles: int) -> str:
    """Assume that tiles which divide the recorded size divide every size, so that these kernels have no guards."""
    dividing = [tile for tile in tiles if SIZE % tile == 0]
    return f" and n mod {max(dividing)} = 0" if dividing else ""


def padding(block_size_x: int, tile_size_x: int) -> int:
    """Return the cells of padding in a row of local memory."""
    columns = block_size_x * (tile_size_x - 1) + HALO
    return -columns % BANKS if block_size_x % BANKS else 0


def space() -> dict[str, tuple[int, ...]]:
    return {
        "block_size_x": tuple(range(16, 257, 16)),
        "block_size_y": (1, 2, 4, 8, 16),
        "tile_size_x": (1, 2, 3, 4),
        "tile_size_y": (1, 2, 3, 4),
        "read_only": (0, 1),
        "use_padding": (0, 1),
        "use_shmem": (0, 1),
    }


def allowed(
    block_size_x: int, block_size_y: int, tile_size_x: int, tile_size_y: int, use_padding: int, use_shmem: int
) -> bool:
    cells = (block_size_x * tile_size_x + HALO) * (block_size_y * tile_size_y + HALO)
    return (
        block_size_x * block_size_y <= 1024
        and (not use_padding or bool(use_shmem and block_size_x % BANKS))
        and (not use_shmem or cells < LOCAL_CELLS)
    )


def reference(image: Any, filter: Any) -> dict[str, Any]:
    windows = np.lib.stride_tricks.sliding_window_view(image, (EXTENT, EXTENT))
    return {"out": np.einsum("yxij,ij->yx", windows, filter, optimize=True)}
