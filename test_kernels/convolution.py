"""Convolution: three 7 by 7 filters applied to three n by n images of three colours.

Stevens and Kloeckner, section 5 ("Convolution"), with half-width w = 3.
"""

from __future__ import annotations

from typing import Any

import loopy as lp
import numpy as np

from perfmodel.kernels import KernelClass, Ladder, WorkGroup, assume

W = 3
EXTENT = 2 * W + 1


def build(work_group: WorkGroup = (16, 16)) -> lp.TranslationUnit:
    t_unit = lp.make_kernel(
        f"{{[i, j, x, y, xi, eta, c]: 0 <= i, j, c < 3 and 0 <= x, y < n and -{W} <= xi, eta <= {W}}}",
        f"""
        out[i, j, x, y] = sum((xi, eta, c),
            image[i, {W} + x - xi, {W} + y - eta, c]*filter[j, {W} + xi, {W} + eta, c])
        """,
        [
            lp.GlobalArg("image", np.float32, shape=f"3, n + {2 * W}, n + {2 * W}, 3"),
            lp.GlobalArg("filter", np.float32, shape=(3, EXTENT, EXTENT, 3)),
            lp.GlobalArg("out", np.float32, shape="3, 3, n, n"),
            lp.ValueArg("n", np.int32),
        ],
        assumptions=assume(n=work_group),
        name="convolution",
        lang_version=(2018, 2),
    )
    t_unit = lp.split_iname(t_unit, "x", work_group[1], outer_tag="g.1", inner_tag="l.1")
    t_unit = lp.split_iname(t_unit, "y", work_group[0], outer_tag="g.0", inner_tag="l.0")
    return lp.prioritize_loops(lp.tag_inames(t_unit, "i:g.2"), "j, xi, eta, c")


def reference(arguments: dict[str, Any], **variant: Any) -> dict[str, Any]:
    image, weights = arguments["image"], arguments["filter"]
    flipped = weights[:, ::-1, ::-1]
    windows = np.lib.stride_tricks.sliding_window_view(image, (EXTENT, EXTENT), axis=(1, 2))
    return {"out": np.einsum("ixycab,jabc->ijxy", windows, flipped, optimize=True)}


KERNEL = KernelClass(
    name="convolution",
    group="convolution",
    build=build,
    sizes=Ladder(lambda e: ({"n": 2**e},), start=6),
    reference=reference,
    dimensions=2,
    tags=("paper",),
)
