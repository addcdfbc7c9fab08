"""Local barriers, from few to many: lanes pass a value to their neighbour through local memory.

Karsin, *A Performance Model for GPU Architectures: Analysis and Design of Fundamental Algorithms* (2018), section 4.5.
"""

from __future__ import annotations

from typing import Any

import loopy as lp
import numpy as np

from perfmodel.kernels import KernelClass, Ladder, WorkGroup


def build(work_group: WorkGroup = (256,)) -> lp.TranslationUnit:
    (width,) = work_group
    t_unit = lp.make_kernel(
        f"{{[g, l, t]: 0 <= l < {width} and 0 <= {width}*g + l < n and 0 <= t < k}}",
        f"""
        for g, l
            <float32> value = a[{width}*g + l] {{id=first}}
            for t
                tile[l] = value {{id=put, dep=first}}
                value = tile[(l + 1) % {width}] {{id=take, dep=put}}
            end
            out[{width}*g + l] = value {{dep=take}}
        end
        """,
        [
            lp.GlobalArg("a, out", np.float32, shape="n"),
            lp.TemporaryVariable("tile", np.float32, shape=width, address_space=lp.AddressSpace.LOCAL),
            lp.ValueArg("n, k", np.int32),
        ],
        assumptions=f"n >= 1 and n mod {width} = 0 and k >= 1",
        name="barriers",
        lang_version=(2018, 2),
    )
    return lp.tag_inames(t_unit, {"g": "g.0", "l": "l.0"})


def reference(arguments: dict[str, Any], work_group: WorkGroup, **variant: Any) -> dict[str, Any]:
    (width,) = work_group
    groups = arguments["a"].reshape(-1, width)
    return {"out": np.roll(groups, -arguments["k"], axis=1).reshape(-1)}


def sizes(exponent: int) -> tuple[dict[str, int], ...]:
    """Sizes that are multiples of every width in the paper, with few and with many barriers."""
    return tuple({"n": 2**exponent * 10752, "k": k} for k in (1, 4, 16, 64))


KERNEL = KernelClass(
    name="barriers",
    group="barriers",
    build=build,
    sizes=Ladder(sizes, start=0, step=2, rungs=2),
    reference=reference,
    dimensions=1,
    tags=("local", "spt"),
    isolates="barrier_local",
    doubles="k",
)
