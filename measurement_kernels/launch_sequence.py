"""One to eight device kernels in one call, to measure the time of a launch; each kernel reverses an array.

Karsin, *A Performance Model for GPU Architectures: Analysis and Design of Fundamental Algorithms* (2018), section 4.6.
"""

from __future__ import annotations

from typing import Any

import loopy as lp
import numpy as np

from perfmodel.kernels import KernelClass, Ladder, WorkGroup


def build(launches: int = 2, work_group: WorkGroup = (256,)) -> lp.TranslationUnit:
    (width,) = work_group
    steps = []
    for s in range(launches):
        source, target = ("a" if s == 0 else f"b{s - 1}"), ("out" if s == launches - 1 else f"b{s}")
        if s:
            steps.append(f"... gbarrier {{id=wait{s}, dep=step{s - 1}}}")
        after = f", dep=wait{s}" if s else ""
        steps.append(f"{target}[i{s}] = {source}[n - 1 - i{s}] {{id=step{s}{after}}}")
    inames = ", ".join(f"i{s}" for s in range(launches))
    between = [f"b{s}" for s in range(launches - 1)]
    t_unit = lp.make_kernel(
        f"{{[{inames}]: 0 <= {inames} < n}}",
        steps,
        [
            *(lp.GlobalArg(name, np.float32, shape="n", is_input=name == "a") for name in ("a", "out", *between)),
            lp.ValueArg("n", np.int32),
        ],
        assumptions=f"n >= 1 and n mod {width & -width} = 0",
        name=f"launch_{launches}",
        lang_version=(2018, 2),
    )
    for s in range(launches):
        t_unit = lp.split_iname(t_unit, f"i{s}", width, outer_tag="g.0", inner_tag="l.0")
    return t_unit


def reference(arguments: dict[str, Any], launches: int, **variant: Any) -> dict[str, Any]:
    return {"out": arguments["a"][::-1] if launches % 2 else arguments["a"]}


KERNEL = KernelClass(
    name="launch_sequence",
    group="launches",
    build=build,
    variants=tuple({"launches": launches} for launches in (1, 2, 4, 8)),
    sizes=Ladder(lambda e: ({"n": 2**e},), start=10, step=3, rungs=3),
    reference=reference,
    dimensions=1,
    tags=("overhead", "spt"),
    isolates="launches",
)
