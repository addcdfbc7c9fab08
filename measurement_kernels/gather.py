"""Gathers and scatters: the address comes from an index array, a permutation of the cells."""

from __future__ import annotations

from typing import Any

import loopy as lp
import numpy as np

from perfmodel.kernels import KernelClass, Ladder, WorkGroup, assume

STATEMENTS = {
    "gather": "out[i] = sum(r, a[cell[i, r], r])",
    "scatter": "out[cell[i, r], r] = a[i]",
}


def build(form: str = "gather", work_group: WorkGroup = (256,)) -> lp.TranslationUnit:
    wide, flat = ("n, k", "N0,N1"), ("n", "N0")
    shapes = {"a": wide, "out": flat} if form == "gather" else {"a": flat, "out": wide}
    t_unit = lp.make_kernel(
        "{[i, r]: 0 <= i < n and 0 <= r < k}",
        STATEMENTS[form],
        [
            *(lp.GlobalArg(name, np.float32, shape=shape, dim_tags=tags, is_input=True)
              for name, (shape, tags) in shapes.items()),
            lp.GlobalArg("cell", np.int32, shape="n, k", dim_tags="N0,N1"),
            lp.ValueArg("n, k", np.int32),
        ],
        assumptions=assume(n=work_group, k=()),
        name=form,
        lang_version=(2018, 2),
        silenced_warnings=["write_race(insn)"],
    )  # fmt: skip
    return lp.split_iname(t_unit, "i", work_group[0], outer_tag="g.0", inner_tag="l.0")


def permutations(generator: np.random.Generator, shape: tuple[int, ...]) -> Any:
    """A permutation of the cells in each column, shape (n, k)."""
    return np.argsort(generator.random(shape), axis=0).astype(np.int32)


def reference(arguments: dict[str, Any], form: str, **variant: Any) -> dict[str, Any]:
    a, cell = arguments["a"], arguments["cell"]
    if form == "gather":
        return {"out": np.take_along_axis(a, cell, axis=0).sum(axis=1)}
    out = np.empty_like(arguments["out"])
    np.put_along_axis(out, cell, np.broadcast_to(a[:, np.newaxis], cell.shape), axis=0)
    return {"out": out}


KERNEL = KernelClass(
    name="gather",
    group="indirect",
    build=build,
    variants=tuple({"form": form} for form in STATEMENTS),
    sizes=Ladder(lambda e: ({"n": 2**e, "k": 16},), start=10, step=2, rungs=3),
    reference=reference,
    dimensions=1,
    tags=("memory",),
    isolates=lambda form, **_: f"global_{'load' if form == 'gather' else 'store'}_32_indirect",
    doubles="k",
    contents={"cell": permutations},
)
