"""Arithmetic of one kind on private values: many independent chains, or one dependent.

Stevens and Kloeckner, section 4.1.  The paper has one form for each kind; here the
throughput form keeps eight accumulators apart so that the device may overlap them, and
the latency form makes each operation wait for the last.  Either way a work-item does
16*k operations.  Each pair of operations undoes itself (times 1.25, then times 0.8), so
values stay in [0.5, 8], yet nothing folds: the operands are kernel arguments.
"""

from __future__ import annotations

from typing import Any

import loopy as lp
import numpy as np

from perfmodel.kernels import KernelClass, Ladder, WorkGroup, assume

OPERATIONS = 16
CHAINS = {"throughput": 8, "latency": 1}
#: The pair of expressions, and the values of there and back.
KINDS = {
    "add": (("acc[u] + there", "acc[u] + back"), (1.25, -1.25)),
    "mul": (("acc[u] * there", "acc[u] * back"), (1.25, 0.8)),
    "div": (("acc[u] / there", "acc[u] / back"), (1.25, 0.8)),
    "pow": (("acc[u] ** there", "acc[u] ** back"), (1.25, 0.8)),
    "rsqrt": (("rsqrt(acc[u])", "rsqrt(acc[u])"), ()),
}
SCALE = 2.0**-13
#: The paper has the last three; shorter ones are for a device on which those take too long.
TRIPS = (4, 8, 16, 32, 64, 128, 256, 512, 728)


def build(kind: str = "add", form: str = "throughput", work_group: WorkGroup = (16, 16)) -> lp.TranslationUnit:
    chains = CHAINS[form]
    steps = [
        f"acc[u] = {KINDS[kind][0][s % 2]} {{id=s{s}, dep={f's{s - 1}' if s else 'first'}}}"
        for s in range(OPERATIONS // chains)
    ]
    t_unit = lp.make_kernel(
        ["{[i, j]: 0 <= i, j < n}", "{[step]: 0 <= step < k}",
         f"{{[a, u, z]: 0 <= a, u, z < {chains}}}"],
        [
            "for i, j",
            "for a",
            "<int32> index = j + a {id=index}",
            "<float32> lane = index {id=lane, dep=index}",
            "acc[a] = 1 + scale*lane {id=first, dep=lane}",
            "end",
            "for step, u", *steps, "end",
            f"out[i, j] = sum(z, acc[z]) {{dep=s{len(steps) - 1}}}",
            "end",
        ],
        [
            lp.GlobalArg("out", np.float32, shape="n, n"),
            *(lp.ValueArg(name, np.float32) for name in scalars(kind)),
            lp.ValueArg("n, k", np.int32),
            lp.TemporaryVariable("acc", np.float32, shape=(chains,)),
        ],
        assumptions=assume(n=work_group, k=()),
        name=f"{kind}_{form}",
        lang_version=(2018, 2),
    )  # fmt: skip
    t_unit = lp.split_iname(t_unit, "i", work_group[1], outer_tag="g.1", inner_tag="l.1")
    t_unit = lp.split_iname(t_unit, "j", work_group[0], outer_tag="g.0", inner_tag="l.0")
    return lp.prioritize_loops(lp.tag_inames(t_unit, "a:unr, u:unr, z:unr"), "step, u")


def scalars(kind: str, **variant: Any) -> dict[str, float]:
    return {**dict(zip(("there", "back"), KINDS[kind][1], strict=False)), "scale": SCALE}


def reference(arguments: dict[str, Any], kind: str, form: str, **variant: Any) -> dict[str, Any]:
    n, chains = arguments["n"], CHAINS[form]
    lanes = np.arange(n)[:, np.newaxis] + np.arange(chains)
    chain = 1 + SCALE * lanes
    if kind == "rsqrt":  # there is no way back: the exponent halves each time
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
    isolates=lambda kind, **_: f"op_float32_{'special' if kind == 'rsqrt' else kind}",
    doubles="k",
    tolerance=1e-3,
)
