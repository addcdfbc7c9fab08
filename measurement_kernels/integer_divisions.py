"""Quotients and remainders of integers by loaded divisors: each work-item sums k of them.

No vector unit divides integers, so the cost differs from the cost of floating-point divisions. All numbers, 64-bit ones
too, are below 2**30, as in most kernels: many compilers divide such numbers by the faster 32-bit instruction.
"""

from __future__ import annotations

from typing import Any

import loopy as lp
import numpy as np

from perfmodel.kernels import KernelClass, Ladder, WorkGroup, assume

OPERATORS = {"quotient": ("//", np.floor_divide), "remainder": ("%", np.remainder)}
TYPES = ("int32", "int64", "uint32", "uint64")


def build(term: str = "quotient", dtype: str = "int32", work_group: WorkGroup = (256,)) -> lp.TranslationUnit:
    t_unit = lp.make_kernel(
        "{[i, r]: 0 <= i < n and 0 <= r < k}", f"out[i] = sum(r, (a[i] + c[r]) {OPERATORS[term][0]} b[i])",
        [
            lp.GlobalArg("a, b, out", np.dtype(dtype), shape="n"), lp.GlobalArg("c", np.dtype(dtype), shape="k"),
            lp.ValueArg("n, k", np.int32),
        ],
        assumptions=assume(n=work_group, k=()), name=f"{term}_{dtype}", lang_version=(2018, 2),
    )  # fmt: skip
    return lp.split_iname(t_unit, "i", work_group[0], outer_tag="g.0", inner_tag="l.0")


def reference(arguments: dict[str, Any], term: str, **variant: Any) -> dict[str, Any]:
    a, b, c = (arguments[name] for name in "abc")
    terms = OPERATORS[term][1](a[:, np.newaxis] + c, b[:, np.newaxis])
    return {"out": terms.sum(axis=1, dtype=a.dtype)}


def dividends(generator: np.random.Generator, shape: tuple[int, ...]) -> Any:
    return generator.integers(2**20, 2**29, shape)


def divisors(generator: np.random.Generator, shape: tuple[int, ...]) -> Any:
    return generator.integers(2**10, 2**16, shape)


KERNEL = KernelClass(
    name="integer_divisions",
    group="arithmetic",
    build=build,
    variants=tuple({"term": term, "dtype": dtype} for term in OPERATORS for dtype in TYPES),
    sizes=Ladder(lambda e: ({"n": 2**e, "k": 64},), start=8, step=2, rungs=2),
    reference=reference,
    dimensions=1,
    tags=("arithmetic",),
    covers=lambda dtype, **_: f"div {dtype}",
    isolates=lambda dtype, **_: f"op_{dtype}_div",
    doubles="k",
    contents={"a": dividends, "b": divisors, "c": dividends},
)
