"""Copies with a lane stride on both sides: loads and stores of one class, in equal number."""

from __future__ import annotations

from typing import Any

import loopy as lp
import numpy as np

from perfmodel.kernels import KernelClass, Ladder, WorkGroup, assume

#: Stride and number of its cells that are copied.
USES = ((2, 1), (3, 1), (4, 1), (8, 2), (2, 2), (3, 3), (4, 4), (8, 8), (3, 2), (4, 2), (8, 4), (4, 3), (8, 6))


def build(stride: int = 2, offsets: int = 1, work_group: WorkGroup = (256,)) -> lp.TranslationUnit:
    t_unit = lp.make_kernel(
        f"{{[i, r, o]: 0 <= i < n and 0 <= r < k and 0 <= o < {offsets}}}",
        "out[o, i, r] = a[o, i, r]",
        [
            lp.GlobalArg("a", np.float32, shape=f"{stride}, n, k", order="F"),
            lp.GlobalArg("out", np.float32, shape=f"{stride}, n, k", order="F", is_input=None),
            lp.ValueArg("n, k", np.int32),
        ],
        assumptions=assume(n=work_group, k=()),
        name=f"copy_stride{stride}_{offsets}",
        lang_version=(2018, 2),
    )
    t_unit = lp.split_iname(t_unit, "i", work_group[0], outer_tag="g.0", inner_tag="l.0")
    return lp.prioritize_loops(t_unit, "r, o")


def reference(arguments: dict[str, Any], offsets: int, **variant: Any) -> dict[str, Any]:
    out = arguments["out"].copy()
    out[:offsets] = arguments["a"][:offsets]
    return {"out": out}


def isolates(stride: int, offsets: int, **variant: Any) -> str:
    parts = min(stride, 4)
    used = -(-offsets * parts // stride)
    return f"global_minloadstore_32_stride{stride if stride <= 4 else 'N'}_{used}of{parts}"


KERNEL = KernelClass(
    name="strided_copy",
    group="strided",
    build=build,
    variants=tuple({"stride": stride, "offsets": offsets} for stride, offsets in USES),
    sizes=Ladder(lambda e: ({"n": 2**e, "k": 16},), start=10, step=2, rungs=3),
    reference=reference,
    dimensions=1,
    tags=("memory",),
    isolates=isolates,
    doubles="k",
)
