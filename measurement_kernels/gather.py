"""Gathers and scatters: the address comes from an index array, a permutation of the cells.

Columns have 8192 cells or more.  In shorter columns two cores write to the same cache lines again and again, and
the time is then not in proportion to the stores (2048 cells: 37 % more time for twice the stores on Intel's runtime).
"""

from __future__ import annotations

from typing import Any

import loopy as lp
import numpy as np

from perfmodel.kernels import KernelClass, Ladder, WorkGroup, assume

TYPES = {"float32": np.float32, "float64": np.float64}
STATEMENTS = {
    "gather": "out[i] = sum(r, a[cell[i, r], r])",
    "scatter": "out[cell[i, r], r] = value",
}


def build(form: str = "gather", dtype: str = "float32", work_group: WorkGroup = (256,)) -> lp.TranslationUnit:
    wide, flat = ("n, k", "N0,N1"), ("n", "N0")
    shapes = {"a": wide, "out": flat} if form == "gather" else {"out": wide}
    t_unit = lp.make_kernel(
        "{[i, r]: 0 <= i < n and 0 <= r < k}",
        STATEMENTS[form],
        [
            *(lp.GlobalArg(name, TYPES[dtype], shape=shape, dim_tags=tags, is_input=True)
              for name, (shape, tags) in shapes.items()),
            lp.GlobalArg("cell", np.int32, shape="n, k", dim_tags="N0,N1"),
            *([] if form == "gather" else [lp.ValueArg("value", TYPES[dtype])]),
            lp.ValueArg("n, k", np.int32),
        ],
        assumptions=assume(n=work_group, k=()),
        name=form if dtype == "float32" else f"{form}_{dtype}",
        lang_version=(2018, 2),
        silenced_warnings=["write_race(insn)"],
    )  # fmt: skip
    return lp.split_iname(t_unit, "i", work_group[0], outer_tag="g.0", inner_tag="l.0")


def permutations(generator: np.random.Generator, shape: tuple[int, ...]) -> Any:
    """A permutation of the cells in each column, shape (n, k)."""
    return np.argsort(generator.random(shape), axis=0).astype(np.int32)


def reference(arguments: dict[str, Any], form: str, **variant: Any) -> dict[str, Any]:
    if form == "scatter":
        return {"out": np.full_like(arguments["out"], arguments["value"])}
    return {"out": np.take_along_axis(arguments["a"], arguments["cell"], axis=0).sum(axis=1)}


def isolates(form: str, dtype: str = "float32", **variant: Any) -> str:
    return f"global_{'load' if form == 'gather' else 'store'}_{dtype[-2:]}_indirect"


KERNEL = KernelClass(
    name="gather",
    group="indirect",
    build=build,
    variants=(
        *({"form": form} for form in STATEMENTS),
        *({"form": form, "dtype": "float64"} for form in STATEMENTS),
    ),
    sizes=Ladder(lambda e: ({"n": 2**e, "k": 16},), start=13, step=2, rungs=3),
    reference=reference,
    dimensions=1,
    scalars=lambda form, **_: {"value": 1.25} if form == "scatter" else {},
    tags=("memory",),
    isolates=isolates,
    doubles="k",
    contents={"cell": permutations},
)
