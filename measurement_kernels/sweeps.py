"""Sequential loops over the rows or the columns of an array, 16 to 4096 long.

In "rows" each work-item sums a row, so neighbouring lanes read neighbouring rows. In "columns" each sums a column, so
each trip of the loop reads the next row. Rows are a power of two long, so that they share few cache sets; with `pad`
they are 16 cells longer. With `largest` the result is the largest cell instead of the sum.
"""

from __future__ import annotations

from typing import Any

import loopy as lp
import numpy as np

from perfmodel.kernels import KernelClass, Ladder, WorkGroup, assume

from ._memory import end, stored

SHAPES = {"rows": "n, k + {pad}", "columns": "k, n + {pad}"}
CELLS = {"rows": "a[i, step]", "columns": "a[step, i]"}


def build(
    along: str = "rows",
    pad: int = 0,
    guarded: bool = False,
    largest: bool = False,
    dtype: str = "float32",
    work_group: WorkGroup = (256,),
) -> lp.TranslationUnit:
    t_unit = lp.make_kernel(
        f"{{[i, step]: 0 <= i < {end('n', guarded)} and 0 <= step < k}}",
        f"out[i] = {'max' if largest else 'sum'}(step, {CELLS[along]})",
        [
            lp.GlobalArg("a", np.dtype(dtype), shape=SHAPES[along].format(pad=pad)),
            lp.GlobalArg("out", np.dtype(dtype), shape="n", is_input=None),
            lp.ValueArg("n, k", np.int32),
        ],
        assumptions=assume(n=work_group, k=()),
        name=f"{'largest' if largest else 'sweep'}_{along}",
        lang_version=(2018, 2),
    )
    return lp.split_iname(t_unit, "i", work_group[0], outer_tag="g.0", inner_tag="l.0")


def reference(
    arguments: dict[str, Any], along: str, guarded: bool = False, largest: bool = False, **variant: Any
) -> dict[str, Any]:
    n, k = arguments["n"], arguments["k"]
    cells = arguments["a"][:n, :k] if along == "rows" else arguments["a"][:k, :n].T
    values = cells.max(axis=1) if largest else cells.sum(axis=1, dtype=float)
    return {"out": stored(values, arguments["out"], guarded)}


def sizes(exponent: int) -> tuple[dict[str, int], ...]:
    """Short loops of many work-items, and long ones of fewer."""
    return tuple({"n": 2 ** (exponent + more), "k": k} for more, k in ((2, 16), (1, 256), (0, 4096)))


KERNEL = KernelClass(
    name="sweeps",
    group="sweeps",
    build=build,
    variants=(  # a campaign takes eight unless it is a full one
        *({"along": along, "pad": pad} for pad in (0, 16) for along in CELLS),
        *({"along": along, "pad": 0, "guarded": True} for along in CELLS),
        *({"along": "rows", "pad": 16, "largest": True, "dtype": dtype} for dtype in ("float32", "float64")),
        *({"along": along, "pad": 16, "guarded": True} for along in CELLS),
    ),
    sizes=Ladder(sizes, start=8, step=2, rungs=2),
    reference=reference,
    dimensions=1,
    tags=("context", "memory"),
)
