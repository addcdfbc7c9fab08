"""Functions of independent terms, summed in one accumulator: the inner loop of N-body.

In the chains of the classes ``arithmetic`` and ``functions`` each step waits for the one before.  Here
the device may compute many terms at once, and only their sum is a chain.
"""

from __future__ import annotations

from typing import Any

import loopy as lp
import numpy as np

from perfmodel.kernels import KernelClass, Ladder, WorkGroup, assume
from perfmodel.kernels.builders.terms import TERMS, TYPES, term_feature

SCALE = 2.0**-13


def build(term: str = "rsqrt", dtype: str = "float32", work_group: WorkGroup = (256,)) -> lp.TranslationUnit:
    t_unit = lp.make_kernel(
        "{[i, s]: 0 <= i < n and 0 <= s < k}",
        [
            "for i, s",
            "<int32> index = i + s {id=index}",
            f"<{dtype}> lane = index {{id=lane, dep=index}}",
            f"<{dtype}> x = 1 + scale*lane {{id=x, dep=lane}}",
            "end",
            f"out[i] = sum(s, {TERMS[term][0]}) {{dep=x}}",
        ],
        [
            lp.GlobalArg("out", np.dtype(dtype), shape="n"),
            lp.ValueArg("scale", np.dtype(dtype)),
            lp.ValueArg("n, k", np.int32),
        ],
        assumptions=assume(n=work_group, k=()),
        name=f"{term}_{dtype}_terms",
        lang_version=(2018, 2),
    )
    return lp.split_iname(t_unit, "i", work_group[0], outer_tag="g.0", inner_tag="l.0")


def reference(arguments: dict[str, Any], term: str, **variant: Any) -> dict[str, Any]:
    n, k = arguments["n"], arguments["k"]
    x = 1 + SCALE * (np.arange(n)[:, np.newaxis] + np.arange(k))
    return {"out": TERMS[term][1](x).sum(axis=1)}


KERNEL = KernelClass(
    name="independent_terms",
    group="arithmetic",
    build=build,
    variants=tuple({"term": term, "dtype": dtype} for term in TERMS for dtype in TYPES),
    sizes=Ladder(lambda e: ({"n": 2**e, "k": 512},), start=8, step=2, rungs=3),
    reference=reference,
    dimensions=1,
    scalars=lambda **_: {"scale": SCALE},
    tags=("arithmetic",),
    isolates=term_feature,
    doubles="k",
    tolerance=1e-3,
)
