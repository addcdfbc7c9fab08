"""Dedispersion of a radio signal: each output sums the channels, each shifted by its delay at a dispersion measure.

    out[dm, t] = sum over c of data[c, t + whole part of dm_step*dm*shifts[c]]

`data` are bytes, sums are float32. A work-group has `block_size_x` (samples) by `block_size_y` (dispersion measures)
work-items. Each forms `tile_size_x` by `tile_size_y` outputs one after another, at the distance of a block with
`tile_stride_x` and `tile_stride_y`, and neighbours without. The loop over the channels is the innermost, and it is not
unrolled.

The delay depends on data, so the bytes that neighbours load are unknown before a run. With `mean_delay` they load at
the mean delay of the channels, a closed form, so that sectors and lines can be counted; the delay is still computed.
Without `mean_delay` the kernel is exact.
"""

from __future__ import annotations

import loopy as lp
import numpy as np
from loopy.symbolic import TypeCast
from pymbolic import var

CHANNELS, MEASURES, SAMPLES, ROW = 1536, 2048, 25000, 25650
DM_STEP = 0.02
FREQUENCIES = 1425 + 0.1953125 * np.arange(CHANNELS)  # MHz
SHIFTS = 4148.808 / 0.00004096 * (1 / FREQUENCIES**2 - 1 / FREQUENCIES[-1] ** 2)  # samples for a unit of dm
PARTS = 1000
MEAN_PARTS = round(PARTS * DM_STEP * float(SHIFTS.mean()))  # parts of a sample, for each dm


def kernel(
    block_size_x: int,
    block_size_y: int,
    tile_size_x: int,
    tile_size_y: int,
    tile_stride_x: int = 0,
    tile_stride_y: int = 0,
    mean_delay: bool = True,
    loop_unroll_factor_channel: int = 0,
) -> lp.TranslationUnit:
    if loop_unroll_factor_channel:
        raise ValueError("the loop over the channels is not unrolled: loop_unroll_factor_channel=0")
    samples, measures = block_size_x * tile_size_x, block_size_y * tile_size_y
    t = f"{samples}*gt + " + (f"{block_size_x}*x + lt" if tile_stride_x else f"{tile_size_x}*lt + x")
    dm = f"{measures}*gd + " + (f"{block_size_y}*y + ld" if tile_stride_y else f"{tile_size_y}*ld + y")
    delay = f"(({dm})*{MEAN_PARTS})//{PARTS}" if mean_delay else "whole"
    inames = frozenset({"gt", "gd", "lt", "ld", "x", "y", "c"})
    t_unit = lp.make_kernel(
        [
            f"{{[gt, gd, lt, ld, x, y]: 0 <= {samples}*gt < samples and 0 <= {measures}*gd < measures"
            f" and 0 <= lt < {block_size_x} and 0 <= ld < {block_size_y}"
            f" and 0 <= x < {tile_size_x} and 0 <= y < {tile_size_y} and {t} < samples and {dm} < measures}}",
            "{[c]: 0 <= c < channels}",
        ],
        [
            f"""
            for gt, gd, lt, ld, y, x
                <> total = 0.0f {{id=start}}
                <> slope = dm_step*({dm}) {{id=slope}}
                for c
                    <> delay = slope*shifts[c] {{id=delay, dep=slope}}
                    total = total + data[c, {t} + {delay}] {{id=add, dep=start:whole}}
                end
                out[{dm}, {t}] = total {{dep=add}}
            end
            """,
            lp.Assignment(
                "whole", TypeCast(np.int32, var("delay")), id="whole", depends_on=frozenset({"delay"}),
                within_inames=inames,
            ),
        ],
        [
            lp.GlobalArg("data", np.uint8, shape="channels, row"),
            lp.ConstantArg("shifts", np.float32, shape="channels"),
            lp.GlobalArg("out", np.float32, shape="measures, samples"),
            lp.ValueArg("dm_step", np.float32),
            lp.ValueArg("channels, measures, samples, row", np.int32),
            lp.TemporaryVariable("whole", np.int32, shape=(), address_space=lp.AddressSpace.PRIVATE),
        ],
        assumptions="channels >= 1 and measures >= 1 and samples >= 1",
        name="dedispersion",
        lang_version=(2018, 2),
        silenced_warnings=["v1_scheduler_fallback"],
    )  # fmt: skip
    t_unit = lp.tag_inames(t_unit, "gt:g.0, gd:g.1, lt:l.0, ld:l.1")
    return lp.prioritize_loops(t_unit, "y, x, c")


def space() -> dict[str, tuple[int, ...]]:
    return {
        "block_size_x": (1, 2, 4, 8, 16, 32),
        "block_size_y": tuple(range(32, 257, 8)),
        "tile_size_x": (1, 2, 3, 4),
        "tile_size_y": tuple(range(1, 9)),
        "tile_stride_x": (0, 1),
        "tile_stride_y": (0, 1),
    }


def allowed(
    block_size_x: int, block_size_y: int, tile_size_x: int, tile_size_y: int, tile_stride_x: int, tile_stride_y: int
) -> bool:
    return block_size_x * block_size_y <= 1024 and tile_stride_x < tile_size_x and tile_stride_y < tile_size_y
