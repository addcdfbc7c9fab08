"""Arithmetic and common functions in single and double precision: many independent chains, or one.

The paper's class ``arithmetic`` measures five kinds in single precision; this class measures double
precision and functions.  Every step maps an interval of normal numbers into itself, so that no value
overflows or becomes denormal.  A step uses kernel arguments, so that the compiler cannot remove it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import loopy as lp
import numpy as np

from perfmodel.kernels import KernelClass, Ladder, WorkGroup

from ._arithmetic import CHAINS, SCALE, chain_kernel

STEPS = 16
#: A step from x with the arguments p and q, as Loopy and as NumPy write it, and values of p and q.
FUNCTIONS: dict[str, tuple[str, Callable[..., Any], tuple[float, float]]] = {
    "madd": ("{x}*q + p", lambda x, p, q: x * q + p, (0.03125, 0.96875)),
    "sqrt": ("sqrt({x})", lambda x, p, q: np.sqrt(x), (0, 0)),
    "exp": ("exp(-1*{x})", lambda x, p, q: np.exp(-x), (0, 0)),
    "minmax": ("fmax({x} + p, q)", lambda x, p, q: np.maximum(x + p, q), (-0.03125, 0.75)),
    "log": ("log({x} + p)", lambda x, p, q: np.log(x + p), (2.0, 0)),
    "sin": ("sin({x})", lambda x, p, q: np.sin(x), (0, 0)),
    "cos": ("cos({x})", lambda x, p, q: np.cos(x), (0, 0)),
    "tanh": ("tanh({x})", lambda x, p, q: np.tanh(x), (0, 0)),
    "add": ("{x} + p", lambda x, p, q: x + p, (0.0078125, 0)),
    "mul": ("{x}*q", lambda x, p, q: x * q, (0, 0.9990234375)),
    "div": ("q/{x}", lambda x, p, q: q / x, (0, 1.25)),
    "pow": ("{x}**p", lambda x, p, q: x**p, (0.875, 0)),
    "rsqrt": ("rsqrt({x})", lambda x, p, q: x**-0.5, (0, 0)),
}
MEASURED_BY_THE_PAPER = ("add", "mul", "div", "pow", "rsqrt")
TYPES = ("float64", "float32")
TRIPS = (2, 4, 8, 16, 32, 64)


def variants() -> tuple[dict[str, str], ...]:
    """Return the variants, throughput first; the first one of float64 measures its peak."""
    return tuple(
        {"function": function, "dtype": dtype, "form": form}
        for form in CHAINS for function in FUNCTIONS for dtype in TYPES
        if dtype == "float64" or function not in MEASURED_BY_THE_PAPER
    )


def arguments_of(function: str) -> dict[str, float]:
    """The arguments p and q, without those that the step does not need, with their values."""
    text, _, values = FUNCTIONS[function]
    names = text.replace("exp", "")
    return {name: value for name, value in zip("pq", values, strict=True) if name in names.replace("pow", "")}


def build(
    function: str = "sqrt", dtype: str = "float32", form: str = "throughput", work_group: WorkGroup = (16, 16)
) -> lp.TranslationUnit:
    steps = [FUNCTIONS[function][0].format(x="acc[u]")] * (STEPS // CHAINS[form])
    scalars = (*arguments_of(function), "scale")
    return chain_kernel(steps, form, dtype, scalars, f"{function}_{dtype}_{form}", work_group)


def reference(arguments: dict[str, Any], function: str, form: str, **variant: Any) -> dict[str, Any]:
    n, chains = arguments["n"], CHAINS[form]
    x = 1 + SCALE * (np.arange(n)[:, np.newaxis] + np.arange(chains))
    p, q = (float(arguments.get(name, 0)) for name in "pq")
    for _ in range(arguments["k"] * STEPS // chains):
        x = FUNCTIONS[function][1](x, p, q)
    return {"out": np.broadcast_to(x.sum(axis=1), (n, n))}


def isolates(function: str, dtype: str, **variant: Any) -> str:
    plain = {"madd": "mul", "add": "add", "mul": "mul", "div": "div", "pow": "pow", "minmax": "minmax"}
    return f"op_{dtype}_{plain.get(function, 'special')}"


COVERED = ("sqrt", "exp", "log", "sin", "tanh", "div", "pow", "rsqrt", "minmax")
"""Functions without a substitute: "cos" costs as much as "sin", and most classes have sums and products."""
INLINED = ("exp", "tanh")
"""Functions that compilers may vectorise. Few kernels have dependent chains of them: their latency misleads a fit."""


def covers(function: str, dtype: str, form: str, **variant: Any) -> str | None:
    waits = function in INLINED and form == "latency"
    return f"{function} {dtype}" if function in COVERED and not waits else None


KERNEL = KernelClass(
    name="functions",
    group="arithmetic",
    build=build,
    variants=variants(),
    sizes=Ladder(lambda e: tuple({"n": 2**e, "k": k} for k in TRIPS), start=5, rungs=2, step=2, longest=2),
    reference=reference,
    dimensions=2,
    scalars=lambda function, **_: {**arguments_of(function), "scale": SCALE},
    tags=("arithmetic",),
    isolates=isolates,
    covers=covers,
    doubles="k",
    tolerance=1e-3,
)
