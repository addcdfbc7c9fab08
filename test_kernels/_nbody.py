"""The N-body kernel of Stevens and Klöckner, section 5, for two kernel classes.

Positions are a 3 by n column-major array, and a softening keeps distances above zero.
"""

from __future__ import annotations

from typing import Any

import loopy as lp
import numpy as np

SOFTENING = 0.5


def potentials_kernel(name: str, assumptions: str) -> lp.TranslationUnit:
    """Make the kernel, without any transformation."""
    return lp.make_kernel(
        "{[i, j, c]: 0 <= i, j < n and 0 <= c < 3}",
        """
        here(p) := x[p, i]
        there(p, q) := x[p, q]
        distance2(q) := sum(c, (here(c) - there(c, q))*(here(c) - there(c, q)))
        potential[i] = sum(j, rsqrt(softening + distance2(j)))
        """,
        [
            lp.GlobalArg("x", np.float32, shape="3, n", order="F"), lp.GlobalArg("potential", np.float32, shape="n"),
            lp.ValueArg("softening", np.float32), lp.ValueArg("n", np.int32),
        ],
        assumptions=assumptions, name=name, lang_version=(2018, 2),
    )


def prefetch_block(t_unit: lp.TranslationUnit, lane: str) -> lp.TranslationUnit:
    """Hold the positions of a block of points in local memory. The iname `lane` runs over the block."""
    return lp.precompute(
        t_unit, "there", ["c", lane], precompute_inames=["part", "lane"],
        precompute_outer_inames=frozenset({"i_outer", "j_outer"}), temporary_name="x_tile", default_tag=None,
    )


def hold_own_position(t_unit: lp.TranslationUnit) -> lp.TranslationUnit:
    """Hold the position of the work-item's own point in private memory."""
    return lp.precompute(
        t_unit, "here", ["c"], precompute_inames=["axis"], precompute_outer_inames=frozenset({"i_outer", "i_inner"}),
        temporary_name="x_here", default_tag=None,
    )


def potentials(arguments: dict[str, Any], **variant: Any) -> dict[str, Any]:
    """Return the sum for each point, in double precision."""
    x = arguments["x"].astype(float)
    distance2 = ((x[:, :, np.newaxis] - x[:, np.newaxis, :]) ** 2).sum(axis=0)
    return {"potential": (1 / np.sqrt(arguments["softening"] + distance2)).sum(axis=1)}
