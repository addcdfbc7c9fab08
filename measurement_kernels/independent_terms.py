"""Functions of independent terms, summed in one accumulator: the inner loop of N-body.

In the chains of the classes ``arithmetic`` and ``functions`` each step waits for the one before.  Here
the device may compute many terms at once, and only their sum is a chain.
"""

from __future__ import annotations

import loopy as lp

from perfmodel.kernels import KernelClass, Ladder, WorkGroup

from ._arithmetic import SCALE, TYPES, summed, term_feature, term_sum

#: The terms of this class; the class `function_terms` measures library functions.
TERMS = ("rsqrt", "sqrt", "exp", "div", "mul")


def build(term: str = "rsqrt", dtype: str = "float32", work_group: WorkGroup = (256,)) -> lp.TranslationUnit:
    return term_sum(term, dtype, work_group)


KERNEL = KernelClass(
    name="independent_terms",
    group="arithmetic",
    build=build,
    variants=tuple({"term": term, "dtype": dtype} for term in TERMS for dtype in TYPES),
    sizes=Ladder(lambda e: ({"n": 2**e, "k": 512},), start=8, step=2, rungs=3),
    reference=summed,
    dimensions=1,
    scalars=lambda **_: {"scale": SCALE},
    tags=("arithmetic",),
    isolates=term_feature,
    covers=lambda term, dtype, **_: None if term == "mul" else f"{term} {dtype} independent",
    doubles="k",
    tolerance=1e-3,
)
