"""Stride-1 global access: copy one array, add four, or store the index.

Stevens and Kloeckner, section 4.1.
"""

from __future__ import annotations

from typing import Any

import loopy as lp
import numpy as np

from perfmodel.kernels import KernelClass, Ladder, WorkGroup, assume

EXPRESSIONS = {"copy": "a[i]", "sum4": "a[i] + b[i] + c[i] + d[i]", "index": "index"}


def build(form: str = "copy", work_group: WorkGroup = (256,)) -> lp.TranslationUnit:
    inputs = [name for name in "abcd" if f"{name}[" in EXPRESSIONS[form]]
    t_unit = lp.make_kernel(
        "{[i]: 0 <= i < n}",
        # A separate integer: Loopy would compute the index in floating point.
        ("<int32> index = i\n" if form == "index" else "") + f"out[i] = {EXPRESSIONS[form]}",
        [
            *(lp.GlobalArg(name, np.float32, shape="n") for name in ("out", *inputs)),
            lp.ValueArg("n", np.int32),
        ],
        assumptions=assume(n=work_group),
        name=f"stride1_{form}",
        lang_version=(2018, 2),
    )
    return lp.split_iname(t_unit, "i", work_group[0], outer_tag="g.0", inner_tag="l.0")


def reference(arguments: dict[str, Any], form: str, **variant: Any) -> dict[str, Any]:
    if form == "index":
        return {"out": np.arange(arguments["n"], dtype=np.float32)}
    return {"out": sum(arguments[name] for name in "abcd" if name in arguments)}


KERNEL = KernelClass(
    name="stride1",
    group="vector",
    build=build,
    variants=tuple({"form": form} for form in EXPRESSIONS),
    sizes=Ladder(lambda e: ({"n": 2**e},), start=12, rungs=9),
    reference=reference,
    dimensions=1,
    tags=("paper", "memory"),
    doubles="n",
    isolates=lambda form, **_: "global_store_32_stride1" if form == "index" else "global_load_32_stride1",
)
