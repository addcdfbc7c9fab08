"""Sums of 1 to 6 arrays, element by element and without a loop, from sizes that fit a near cache to memory.

Each array is a separate stream, and the variants differ only in the number of streams.
"""

from __future__ import annotations

from typing import Any

import loopy as lp
import numpy as np

from perfmodel.kernels import KernelClass, Ladder, WorkGroup, assume

from ._memory import end, stored

ARRAYS = "abcdef"


def build(
    streams: int = 2, dtype: str = "float32", guarded: bool = False, work_group: WorkGroup = (256,)
) -> lp.TranslationUnit:
    t_unit = lp.make_kernel(
        f"{{[i]: 0 <= i < {end('n', guarded)}}}",
        f"out[i] = {' + '.join(f'{name}[i]' for name in ARRAYS[:streams])}",
        [
            *(lp.GlobalArg(name, np.dtype(dtype), shape="n") for name in ARRAYS[:streams]),
            lp.GlobalArg("out", np.dtype(dtype), shape="n", is_input=None),
            lp.ValueArg("n", np.int32),
        ],
        assumptions=assume(n=work_group),
        name=f"streams_{streams}_{dtype}",
        lang_version=(2018, 2),
    )
    return lp.split_iname(t_unit, "i", work_group[0], outer_tag="g.0", inner_tag="l.0")


def reference(arguments: dict[str, Any], streams: int, guarded: bool = False, **variant: Any) -> dict[str, Any]:
    values = sum(arguments[name] for name in ARRAYS[:streams])
    return {"out": stored(values, arguments["out"], guarded)}


KERNEL = KernelClass(
    name="load_streams",
    group="vector",
    build=build,
    variants=(
        *({"streams": streams} for streams in (2, 3, 5, 6)),
        {"streams": 3, "dtype": "float64"},
        *({"streams": streams, "guarded": True} for streams in (1, 4, 6)),
    ),
    sizes=Ladder(lambda e: ({"n": 2**e},), start=12, step=4, rungs=3),
    reference=reference,
    dimensions=1,
    tags=("context", "memory"),
    isolates=lambda dtype="float32", **_: f"global_load_{dtype[-2:]}_stride1",
    doubles="n",
)
