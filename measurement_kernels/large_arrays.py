"""One or three arrays of 16 to 64 MiB, summed into another: more than the last-level cache of most CPUs holds."""

from __future__ import annotations

from typing import Any

import loopy as lp
import numpy as np

from perfmodel.kernels import KernelClass, Ladder

WIDTH = 256


def build(loads: int = 1) -> lp.TranslationUnit:
    names = "abc"[:loads]
    t_unit = lp.make_kernel(
        "{[i]: 0 <= i < n}",
        f"out[i] = {' + '.join(f'{name}[i]' for name in names)}",
        [*(lp.GlobalArg(name, np.float32, shape="n") for name in ("out", *names)), lp.ValueArg("n", np.int32)],
        assumptions=f"n >= 1 and n mod {WIDTH} = 0",
        name=f"large_{loads}",
        lang_version=(2018, 2),
    )
    return lp.split_iname(t_unit, "i", WIDTH, outer_tag="g.0", inner_tag="l.0")


def reference(arguments: dict[str, Any], loads: int, **variant: Any) -> dict[str, Any]:
    return {"out": sum(arguments[name] for name in "abc"[:loads])}


KERNEL = KernelClass(
    name="large_arrays",
    group="large",
    build=build,
    variants=({"loads": 1}, {"loads": 3}),
    sizes=Ladder(lambda e: ({"n": 2**e},), start=22, rungs=3),
    reference=reference,
    tags=("context", "memory"),
)
