"""Stores to local memory at bank strides 1 to 32: lanes write cells at a distance of `stride` words.

Every lane writes its cell of `w` rows, `k` times.  Since `w` is a parameter, the compiler cannot
know that a later sweep overwrites an earlier one.
"""

from __future__ import annotations

from typing import Any

import loopy as lp
import numpy as np

from perfmodel.kernels import KernelClass, Ladder, WorkGroup, assume

LANES, ROWS = 64, 4
TYPES = {"float32": np.float32, "float64": np.float64}


def build(stride: int = 1, dtype: str = "float32", work_group: WorkGroup = ()) -> lp.TranslationUnit:
    t_unit = lp.make_kernel(
        [
            f"{{[g, l]: 0 <= l < {LANES} and 0 <= {LANES}*g + l < n}}",
            "{[m, t, s]: 0 <= m < k and 0 <= t, s < w}",
        ],
        f"""
        for g, l
            for m, t
                tile[{stride}*l, t] = value {{id=put}}
            end
            out[{LANES}*g + l] = sum(s, tile[{stride}*l, s]) {{dep=put}}
        end
        """,
        [
            lp.GlobalArg("out", TYPES[dtype], shape="n"),
            lp.TemporaryVariable(
                "tile",
                TYPES[dtype],
                shape=(stride * LANES, ROWS),
                order="F",
                address_space=lp.AddressSpace.LOCAL,
            ),
            lp.ValueArg("value", TYPES[dtype]),
            lp.ValueArg("n, k, w", np.int32),
        ],
        assumptions=f"{assume(n=(LANES,), k=(), w=())} and w <= {ROWS}",
        name=f"local_store_stride{stride}_{dtype}",
        lang_version=(2018, 2),
    )
    t_unit = lp.tag_inames(t_unit, {"g": "g.0", "l": "l.0"})
    return lp.prioritize_loops(t_unit, "m, t")


def reference(arguments: dict[str, Any], **variant: Any) -> dict[str, Any]:
    return {"out": np.full_like(arguments["out"], arguments["w"] * arguments["value"])}


KERNEL = KernelClass(
    name="local_bank_stores",
    group="local",
    build=build,
    variants=(
        *({"stride": stride} for stride in (1, 32, 2, 4, 8, 16)),
        {"stride": 1, "dtype": "float64"},
    ),
    sizes=Ladder(lambda e: ({"n": 2**e, "k": 256, "w": ROWS},), start=9, step=2, rungs=3),
    reference=reference,
    scalars=lambda **_: {"value": 1.25},
    tags=("local",),
    isolates=lambda dtype="float32", **_: f"local_store_{dtype[-2:]}",
    doubles="k",
)
