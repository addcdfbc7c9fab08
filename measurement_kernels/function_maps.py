"""Functions of array elements, without a loop: vectorised, unless the runtime calls them for one element at a time.

In the classes ``independent_terms`` and ``function_terms`` there is a loop around the function, so a compiler that
vectorises only the innermost loop over work-items computes it for one work-item at a time.
"""

from __future__ import annotations

from typing import Any

import loopy as lp
import numpy as np

from perfmodel.kernels import KernelClass, Ladder, WorkGroup, assume

from ._arithmetic import TERMS, TYPES, term_feature

FUNCTIONS = ("exp", "log", "sin", "tanh", "sqrt", "div")


def build(term: str = "exp", dtype: str = "float32", work_group: WorkGroup = (256,)) -> lp.TranslationUnit:
    t_unit = lp.make_kernel(
        "{[i]: 0 <= i < n}",
        f"for i\n<> x = 1 + a[i] {{id=x}}\nout[i] = {TERMS[term][0]} {{dep=x}}\nend",
        [
            lp.GlobalArg("a", np.dtype(dtype), shape="n"),
            lp.GlobalArg("out", np.dtype(dtype), shape="n", is_input=None),
            lp.ValueArg("n", np.int32),
        ],
        assumptions=assume(n=work_group),
        name=f"{term}_{dtype}_map",
        lang_version=(2018, 2),
    )
    return lp.split_iname(t_unit, "i", work_group[0], outer_tag="g.0", inner_tag="l.0")


def reference(arguments: dict[str, Any], term: str, **variant: Any) -> dict[str, Any]:
    return {"out": TERMS[term][1](1 + arguments["a"].astype(float))}


KERNEL = KernelClass(
    name="function_maps",
    group="arithmetic",
    build=build,
    variants=tuple({"term": term, "dtype": dtype} for term in FUNCTIONS for dtype in TYPES),
    sizes=Ladder(lambda e: ({"n": 2**e},), start=12, step=4, rungs=2),
    reference=reference,
    dimensions=1,
    tags=("arithmetic", "context"),
    isolates=term_feature,
    covers=lambda term, dtype, **_: f"{term} {dtype} map",
    doubles="n",
    tolerance=1e-3,
)
