"""Chains of 2 to 64 multiply-adds without a loop: each needs the result of the one before.

In the classes ``arithmetic`` and ``functions`` the chains are in a loop of each work-item. Here the only loop is over
work-items, so a device that runs work-items one after the other may combine several.
"""

from __future__ import annotations

from typing import Any

import loopy as lp
import numpy as np

from perfmodel.kernels import KernelClass, Ladder, WorkGroup, assume

from ._memory import end, stored

#: Multiply-adds in one statement.
STATEMENT = 8
#: From this length on the arithmetic takes longer than the memory accesses.
LONG = 16


def build(
    length: int = 8, dtype: str = "float32", guarded: bool = False, work_group: WorkGroup = (256,)
) -> lp.TranslationUnit:
    statements, value = [], "a[i]"
    for step in range(1, length + 1):
        value = f"({value}*q + p)"
        if step % STATEMENT == 0 and step < length:
            statements.append(f"<> x{step} = {value}")
            value = f"x{step}"
    t_unit = lp.make_kernel(
        f"{{[i]: 0 <= i < {end('n', guarded)}}}",
        ["for i", *statements, f"out[i] = {value}", "end"],
        [
            lp.GlobalArg("a", np.dtype(dtype), shape="n"),
            lp.GlobalArg("out", np.dtype(dtype), shape="n", is_input=None),
            lp.ValueArg("p, q", np.dtype(dtype)),
            lp.ValueArg("n", np.int32),
        ],
        assumptions=assume(n=work_group),
        name=f"straight_{length}_{dtype}",
        lang_version=(2018, 2),
    )
    return lp.split_iname(t_unit, "i", work_group[0], outer_tag="g.0", inner_tag="l.0")


def reference(arguments: dict[str, Any], length: int, guarded: bool = False, **variant: Any) -> dict[str, Any]:
    x = arguments["a"].astype(float)
    for _ in range(length):
        x = x * arguments["q"] + arguments["p"]
    return {"out": stored(x, arguments["out"], guarded)}


def isolates(length: int, dtype: str = "float32", **variant: Any) -> str | None:
    return f"op_{dtype}_mul" if length >= LONG else None


KERNEL = KernelClass(
    name="straight_chains",
    group="straight",
    build=build,
    variants=(
        *({"length": length} for length in (2, 8, 32, 64)),
        {"length": 16, "guarded": True},  # a quick campaign takes the middle of the list: PoCL's highest rate
        *({"length": length, "dtype": "float64"} for length in (4, 64)),
        {"length": 32, "dtype": "float64", "guarded": True},
    ),
    sizes=Ladder(lambda e: ({"n": 2**e},), start=12, step=4, rungs=2),
    reference=reference,
    dimensions=1,
    scalars=lambda **_: {"p": 0.03125, "q": 0.96875},
    tags=("context", "arithmetic"),
    isolates=isolates,
    doubles="n",
)
