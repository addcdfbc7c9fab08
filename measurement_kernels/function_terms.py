"""Logarithms, sines, cosines and hyperbolic tangents of independent terms, summed in one accumulator.

A library computes these, each in its own way and at its own price. In the class `functions` each step waits for the one
before; here the device may compute many terms at once.
"""

from __future__ import annotations

import loopy as lp

from perfmodel.kernels import KernelClass, Ladder, WorkGroup

from ._arithmetic import SCALE, TYPES, summed, term_feature, term_sum

TERMS = ("log", "sin", "cos", "tanh")


def build(term: str = "log", dtype: str = "float32", work_group: WorkGroup = (256,)) -> lp.TranslationUnit:
    return term_sum(term, dtype, work_group)


KERNEL = KernelClass(
    name="function_terms",
    group="arithmetic",
    build=build,
    variants=tuple({"term": term, "dtype": dtype} for term in TERMS for dtype in TYPES),
    sizes=Ladder(lambda e: ({"n": 2**e, "k": 256},), start=8, step=2, rungs=3),
    reference=summed,
    dimensions=1,
    scalars=lambda **_: {"scale": SCALE},
    tags=("arithmetic", "context"),
    isolates=term_feature,
    doubles="k",
    tolerance=1e-3,
)
