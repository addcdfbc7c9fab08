"""Arithmetic of one kind on private values: many independent chains, or one chain.

Stevens and Kloeckner, section 4.1.  The paper has one form for each kind.  Here the
throughput form has eight accumulators, whose operations the device may overlap, and in the
latency form each operation waits for the one before.  In both a work-item does 16*k
operations.  The second operation of each pair reverses the first (times 1.25, then times
0.8), so that values stay in [0.5, 8].  The compiler cannot remove them, since the operands
are kernel arguments.
"""

from __future__ import annotations

from typing import Any

import loopy as lp
import numpy as np

from perfmodel.kernels import KernelClass, Ladder, WorkGroup

from ._arithmetic import CHAINS, SCALE, chain_kernel

OPERATIONS = 16
#: Two expressions, of which the second reverses the first, and the values of their arguments.
KINDS = {
    "add": (("acc[u] + there", "acc[u] + back"), (1.25, -1.25)),
    "mul": (("acc[u] * there", "acc[u] * back"), (1.25, 0.8)),
    "div": (("acc[u] / there", "acc[u] / back"), (1.25, 0.8)),
    "pow": (("acc[u] ** there", "acc[u] ** back"), (1.25, 0.8)),
    "rsqrt": (("rsqrt(acc[u])", "rsqrt(acc[u])"), ()),
}
#: The paper has the last three lengths; the shorter ones are for devices on which the paper's lengths take too long.
TRIPS = (4, 8, 16, 32, 64, 128, 256, 512, 728)


def build(kind: str = "add", form: str = "throughput", work_group: WorkGroup = (16, 16)) -> lp.TranslationUnit:
    steps = [KINDS[kind][0][s % 2] for s in range(OPERATIONS // CHAINS[form])]
    return chain_kernel(steps, form, "float32", scalars(kind), f"{kind}_{form}", work_group)


def scalars(kind: str, **variant: Any) -> dict[str, float]:
    return {**dict(zip(("there", "back"), KINDS[kind][1], strict=False)), "scale": SCALE}


def reference(arguments: dict[str, Any], kind: str, form: str, **variant: Any) -> dict[str, Any]:
    n, chains = arguments["n"], CHAINS[form]
    lanes = np.arange(n)[:, np.newaxis] + np.arange(chains)
    chain = 1 + SCALE * lanes
    if kind == "rsqrt":  # no step reverses another: the exponent halves each time
        chain = chain ** ((-0.5) ** (arguments["k"] * OPERATIONS // chains))
    return {"out": np.broadcast_to(chain.sum(axis=1), (n, n))}


KERNEL = KernelClass(
    name="arithmetic",
    group="arithmetic",
    build=build,
    variants=tuple({"kind": kind, "form": form} for kind in KINDS for form in CHAINS),
    sizes=Ladder(lambda e: tuple({"n": 2**e, "k": k} for k in TRIPS), start=5, rungs=3, longest=3),
    reference=reference,
    dimensions=2,
    scalars=scalars,
    tags=("paper", "arithmetic"),
    covers=lambda kind, **_: f"{kind} float32",
    isolates=lambda kind, **_: f"op_float32_{'special' if kind == 'rsqrt' else kind}",
    doubles="k",
    tolerance=1e-3,
)
