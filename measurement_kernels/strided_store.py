"""Stores with a lane stride, into a part, a half or all of the cells; nothing is loaded."""

from __future__ import annotations

from typing import Any

import loopy as lp
import numpy as np

from perfmodel.kernels import KernelClass, Ladder, WorkGroup, assume

#: Strides with the numbers of cells used, the most telling first.
USES = {2: (1, 2), 3: (1, 3, 2), 4: (1, 4, 2, 3), 8: (2, 8, 4, 6), 16: (4,), 32: (8,)}


def variants() -> tuple[dict[str, int], ...]:
    """Every stride once, then again with more of its cells used."""
    longest = max(map(len, USES.values()))
    return tuple(
        {"stride": stride, "offsets": uses[place]}
        for place in range(longest) for stride, uses in USES.items() if place < len(uses)
    )


def build(stride: int = 2, offsets: int = 1, work_group: WorkGroup = (256,)) -> lp.TranslationUnit:
    t_unit = lp.make_kernel(
        f"{{[i, r, o]: 0 <= i < n and 0 <= r < k and 0 <= o < {offsets}}}",
        "out[o, i, r] = value",
        [
            lp.GlobalArg("out", np.float32, shape=f"{stride}, n, k", order="F", is_input=None),
            lp.ValueArg("value", np.float32),
            lp.ValueArg("n, k", np.int32),
        ],
        assumptions=assume(n=work_group, k=()),
        name=f"store_stride{stride}_{offsets}",
        lang_version=(2018, 2),
    )
    t_unit = lp.split_iname(t_unit, "i", work_group[0], outer_tag="g.0", inner_tag="l.0")
    return lp.prioritize_loops(t_unit, "r, o")


def reference(arguments: dict[str, Any], offsets: int, **variant: Any) -> dict[str, Any]:
    out = arguments["out"].copy()
    out[:offsets] = arguments["value"]
    return {"out": out}


def isolates(stride: int, offsets: int, **variant: Any) -> str:
    parts = min(stride, 4)
    used = -(-offsets * parts // stride)
    return f"global_store_32_stride{stride if stride <= 4 else 'N'}_{used}of{parts}"


KERNEL = KernelClass(
    name="strided_store",
    group="strided",
    build=build,
    variants=variants(),
    sizes=Ladder(lambda e: ({"n": 2**e, "k": 16},), start=10, step=2, rungs=3),
    reference=reference,
    dimensions=1,
    scalars=lambda **_: {"value": 1.25},
    tags=("memory",),
    isolates=isolates,
    doubles="k",
)
