"""Three to eight loaded rows of an array and 1 to 4 stored arrays, without a loop.

A work-item loads a column of `loads` rows, which no other work-item loads, and stores `stores` sums of them, each into
a separate array: many streams, one row apart. Rows are a power of two long; with `pad` they are 16 cells longer.
"""

from __future__ import annotations

from typing import Any

import loopy as lp
import numpy as np

from perfmodel.kernels import KernelClass, Ladder

from ._memory import end, stored

WIDTH, HEIGHT = 64, 4


def build(loads: int = 3, stores: int = 1, pad: int = 0, guarded: bool = False) -> lp.TranslationUnit:
    rows = [f"a[{loads}*i + {row}, j]" for row in range(loads)]
    t_unit = lp.make_kernel(
        f"{{[i, j]: 0 <= i < m and 0 <= j < {end('n', guarded)}}}",
        [f"out{s}[i, j] = {' + '.join(rows[s::stores])}" for s in range(stores)],
        [
            lp.GlobalArg("a", np.float32, shape=f"{loads}*m, n + {pad}"),
            *(lp.GlobalArg(f"out{s}", np.float32, shape="m, n", is_input=None) for s in range(stores)),
            lp.ValueArg("m, n", np.int32),
        ],
        assumptions=f"m >= 1 and n >= 1 and m mod {HEIGHT} = 0 and n mod {WIDTH} = 0",
        name=f"rows_{loads}_{stores}",
        lang_version=(2018, 2),
    )
    t_unit = lp.split_iname(t_unit, "i", HEIGHT, outer_tag="g.1", inner_tag="l.1")
    return lp.split_iname(t_unit, "j", WIDTH, outer_tag="g.0", inner_tag="l.0")


def reference(
    arguments: dict[str, Any], loads: int, stores: int, guarded: bool = False, **variant: Any
) -> dict[str, Any]:
    m, n = arguments["m"], arguments["n"]
    rows = arguments["a"].reshape(m, loads, -1)[:, :, :n]
    sums = {f"out{s}": rows[:, s::stores].sum(axis=1) for s in range(stores)}
    return {name: stored(values, arguments[name], guarded) for name, values in sums.items()}


KERNEL = KernelClass(
    name="stored_rows",
    group="rows",
    build=build,
    variants=(
        *({"loads": loads, "stores": stores} for loads, stores in ((3, 1), (8, 1), (5, 2), (8, 4))),
        {"loads": 8, "stores": 1, "pad": 16},
        {"loads": 4, "stores": 2, "guarded": True},
        {"loads": 8, "stores": 4, "guarded": True},
    ),
    sizes=Ladder(lambda e: ({"m": 2 ** (e - 1), "n": 2**e},), start=6, step=2, rungs=3),
    reference=reference,
    tags=("context", "memory"),
)
