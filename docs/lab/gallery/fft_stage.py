"""An FFT stage: the butterflies of one radix-2 stage, after Stockham, on complex numbers as two arrays.

m pairs of blocks of s numbers are added and subtracted, and the differences are turned by a twiddle factor. Lanes go
along a block (`along`), where they read neighbouring cells, or from block to block (`across`).
"""

from __future__ import annotations

import loopy as lp
import numpy as np


def build(lanes: str, rows: str) -> lp.TranslationUnit:
    t_unit = lp.make_kernel(
        "{[p, q]: 0 <= p < m and 0 <= q < s}",
        """
        for p, q
            <> dr = xr[0, p, q] - xr[1, p, q]
            <> di = xi[0, p, q] - xi[1, p, q]
            yr[p, 0, q] = xr[0, p, q] + xr[1, p, q]
            yi[p, 0, q] = xi[0, p, q] + xi[1, p, q]
            yr[p, 1, q] = dr*wr[p] - di*wi[p]
            yi[p, 1, q] = dr*wi[p] + di*wr[p]
        end
        """,
        [
            lp.GlobalArg("xr, xi", np.float32, shape="2, m, s"), lp.GlobalArg("wr, wi", np.float32, shape="m"),
            lp.GlobalArg("yr, yi", np.float32, shape="m, 2, s"), lp.ValueArg("m, s", np.int32),
        ],
        assumptions="m >= 1 and m mod 16 = 0 and s >= 1 and s mod 16 = 0", lang_version=(2018, 2),
    )  # fmt: skip
    t_unit = lp.split_iname(t_unit, lanes, 16, outer_tag="g.0", inner_tag="l.0")
    return lp.split_iname(t_unit, rows, 16, outer_tag="g.1", inner_tag="l.1")


def variants() -> dict[str, lp.TranslationUnit]:
    return {"along": build("q", "p"), "across": build("p", "q")}
