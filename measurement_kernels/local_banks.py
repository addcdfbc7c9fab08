"""Loads from local memory at bank strides 1 to 32: lanes read cells at a distance of `stride` words.

Sweeps over `w` cells are repeated `k` times.  Since `w` is a parameter, the compiler cannot keep
the cells in registers.  Karsin, *A Performance Model for GPU Architectures: Analysis and Design of
Fundamental Algorithms* (2018), section 4.3, measures conflicts in this way.
"""

from __future__ import annotations

from typing import Any

import loopy as lp
import numpy as np

from perfmodel.kernels import KernelClass, Ladder, WorkGroup, assume

LANES, WIDEST = 64, 32
TYPES = {"float32": np.float32, "float64": np.float64}


def build(stride: int = 1, dtype: str = "float32", work_group: WorkGroup = ()) -> lp.TranslationUnit:
    cells = stride * (LANES - 1) + WIDEST
    t_unit = lp.make_kernel(
        [
            f"{{[g, l]: 0 <= l < {LANES} and 0 <= {LANES}*g + l < n}}",
            f"{{[c]: 0 <= c < {cells}}}",
            "{[m, t]: 0 <= m < k and 0 <= t < w}",
        ],
        f"""
        for g
            tile[c] = a[c] {{id=put}}
            out[{LANES}*g + l] = sum((m, t), tile[{stride}*l + t]) {{dep=put}}
        end
        """,
        [
            lp.GlobalArg("a", TYPES[dtype], shape=cells),
            lp.GlobalArg("out", TYPES[dtype], shape="n"),
            lp.TemporaryVariable("tile", TYPES[dtype], shape=cells, address_space=lp.AddressSpace.LOCAL),
            lp.ValueArg("n, k, w", np.int32),
        ],
        assumptions=f"{assume(n=(LANES,), k=(), w=())} and w <= {WIDEST}",
        name=f"local_stride{stride}" + ("" if dtype == "float32" else f"_{dtype}"),
        lang_version=(2018, 2),
    )
    t_unit = lp.split_iname(t_unit, "c", LANES, inner_tag="l.0")
    t_unit = lp.tag_inames(t_unit, {"g": "g.0", "l": "l.0"})
    return lp.prioritize_loops(t_unit, "m, t")


def reference(arguments: dict[str, Any], stride: int, **variant: Any) -> dict[str, Any]:
    a, w, k = arguments["a"], arguments["w"], arguments["k"]
    sums = k * np.array([a[stride * lane : stride * lane + w].sum(dtype=float) for lane in range(LANES)])
    return {"out": np.tile(sums, arguments["n"] // LANES)}


KERNEL = KernelClass(
    name="local_banks",
    group="local",
    build=build,
    variants=(
        *({"stride": stride} for stride in (1, 2, 4, 8, 16, 32)),
        {"stride": 1, "dtype": "float64"},
    ),
    sizes=Ladder(lambda e: ({"n": 2**e, "k": 32, "w": WIDEST},), start=9, step=2, rungs=3),
    reference=reference,
    tags=("local",),
    isolates=lambda dtype="float32", **_: f"local_load_{dtype[-2:]}",
    doubles="k",
    tolerance=1e-3,
)
