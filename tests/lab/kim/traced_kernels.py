"""Small counted kernels for the tests of traces."""

from __future__ import annotations

from typing import Any

import loopy as lp
import numpy as np

from perfmodel.counts import KernelCounts, count


def counted(domain: str, code: str, *tags: tuple[str, int, str, str], **types: Any) -> KernelCounts:
    unit = lp.make_kernel(domain, code, assumptions="n >= 1", lang_version=(2018, 2), name="made_up")
    unit = lp.add_dtypes(unit, types)
    for iname, length, outer, inner in tags:
        unit = lp.split_iname(unit, iname, length, outer_tag=outer, inner_tag=inner)
    return count(unit, cache=False)


def streaming() -> KernelCounts:
    return counted("{[i]: 0 <= i < n}", "y[i] = 2*x[i]", ("i", 64, "g.0", "l.0"), x=np.float32)
