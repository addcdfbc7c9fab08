"""Loads with a lane stride, of which a part, a half or all cells are used; one store for many loads.

Stevens and Kloeckner, section 2.1, whose amortised stride fractions these kernels tell apart: with
``offsets`` of ``stride`` neighbouring cells loaded, the utilisation is offsets/stride.
"""

from __future__ import annotations

from typing import Any

import loopy as lp
import numpy as np

from perfmodel.kernels import KernelClass, Ladder, WorkGroup, assume

#: Strides with the numbers of cells used, the most telling first.
USES = {2: (1, 2), 3: (1, 3, 2), 4: (1, 4, 2, 3), 8: (2, 8, 4, 6), 16: (4, 16), 32: (8, 32)}


def variants() -> tuple[dict[str, int], ...]:
    """Every stride once, then again with more of its cells used."""
    longest = max(map(len, USES.values()))
    return tuple(
        {"stride": stride, "offsets": uses[place]}
        for place in range(longest) for stride, uses in USES.items() if place < len(uses)
    )


def stride_class(stride: int, offsets: int) -> str:
    """Name of the class of these accesses."""
    parts = min(stride, 4)
    return f"stride{stride if stride <= 4 else 'N'}_{-(-offsets * parts // stride)}of{parts}"


def build(stride: int = 2, offsets: int = 1, work_group: WorkGroup = (256,)) -> lp.TranslationUnit:
    t_unit = lp.make_kernel(
        f"{{[i, r, o]: 0 <= i < n and 0 <= r < k and 0 <= o < {offsets}}}",
        "out[i] = sum((r, o), a[o, i, r])",
        [
            lp.GlobalArg("a", np.float32, shape=f"{stride}, n, k", order="F"),
            lp.GlobalArg("out", np.float32, shape="n"),
            lp.ValueArg("n, k", np.int32),
        ],
        assumptions=assume(n=work_group, k=()),
        name=f"load_stride{stride}_{offsets}",
        lang_version=(2018, 2),
    )
    t_unit = lp.split_iname(t_unit, "i", work_group[0], outer_tag="g.0", inner_tag="l.0")
    return lp.prioritize_loops(t_unit, "r, o")


def reference(arguments: dict[str, Any], offsets: int, **variant: Any) -> dict[str, Any]:
    return {"out": arguments["a"][:offsets].sum(axis=(0, 2))}


KERNEL = KernelClass(
    name="strided_load",
    group="strided",
    build=build,
    variants=variants(),
    sizes=Ladder(lambda e: ({"n": 2**e, "k": 16},), start=10, step=2, rungs=3),
    reference=reference,
    dimensions=1,
    tags=("memory",),
    isolates=lambda stride, offsets, **_: f"global_load_32_{stride_class(stride, offsets)}",
    doubles="k",
)
