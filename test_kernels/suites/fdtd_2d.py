"""One step of the finite-difference time-domain method in two dimensions: fields ey and ex, and then hz.

The updates of the kernel FDTD-2D in PolyBench/GPU, on n by n cells: hz needs the new ex and ey of its neighbours, so
it has a separate launch.  The two electric fields are updated in one launch, or in two with `launches` of 3.
Groups have `width` by `height` work-items, which update `rows` cells each.
"""

from __future__ import annotations

from typing import Any

import loopy as lp
import numpy as np

from perfmodel.kernels import KernelClass, Ladder

FIELDS = {
    "ey": "ey[{i} + 1, {j}] = ey[{i} + 1, {j}] - electric*(hz[{i} + 1, {j}] - hz[{i}, {j}])",
    "ex": "ex[{i}, {j} + 1] = ex[{i}, {j} + 1] - electric*(hz[{i}, {j} + 1] - hz[{i}, {j}])",
    "hz": "hz[{i}, {j}] = hz[{i}, {j}] - magnetic*(ex[{i}, {j} + 1] - ex[{i}, {j}] + ey[{i} + 1, {j}] - ey[{i}, {j}])",
}
STEPS = {2: (("ey", "ex"), ("hz",)), 3: (("ey",), ("ex",), ("hz",))}


def build(width: int = 16, height: int = 16, rows: int = 1, launches: int = 2) -> lp.TranslationUnit:
    steps = STEPS[launches]
    lines: list[str] = []
    for s, fields in enumerate(steps):
        if s:
            before = ":".join(steps[s - 1])
            lines.append(f"... gbarrier {{id=wait{s}, dep={before}}}")
        after = f", dep=*wait{s}" if s else ", dep=*"  # by hand: each launch reads what the next one writes
        lines.extend(f"{FIELDS[name].format(i=f'i{s}', j=f'j{s}')} {{id={name}{after}}}" for name in fields)
    inames = ", ".join(f"i{s}, j{s}" for s in range(launches))
    t_unit = lp.make_kernel(
        f"{{[{inames}]: 0 <= {inames} < n}}",
        lines,
        [
            lp.GlobalArg("ex, ey, hz", np.float32, shape="n + 1, n + 1"),
            lp.ValueArg("electric, magnetic", np.float32),
            lp.ValueArg("n", np.int32),
        ],
        assumptions=f"n >= 1 and n mod {max(width, height * rows)} = 0",
        name="fdtd_2d",
        lang_version=(2018, 2),
    )
    for s in range(launches):
        t_unit = lp.split_iname(t_unit, f"i{s}", height * rows, inner_iname=f"row{s}", outer_tag="g.1")
        t_unit = lp.split_iname(t_unit, f"row{s}", height, inner_tag="l.1", outer_tag="unr")
        t_unit = lp.split_iname(t_unit, f"j{s}", width, outer_tag="g.0", inner_tag="l.0")
    return t_unit


def reference(arguments: dict[str, Any], **variant: Any) -> dict[str, Any]:
    ex, ey, hz = (arguments[name].astype(float) for name in ("ex", "ey", "hz"))
    ey[1:, :-1] -= arguments["electric"] * (hz[1:, :-1] - hz[:-1, :-1])
    ex[:-1, 1:] -= arguments["electric"] * (hz[:-1, 1:] - hz[:-1, :-1])
    across, along = ex[:-1, 1:] - ex[:-1, :-1], ey[1:, :-1] - ey[:-1, :-1]
    hz[:-1, :-1] -= arguments["magnetic"] * (across + along)
    return {"ex": ex, "ey": ey, "hz": hz}


KERNEL = KernelClass(
    name="fdtd_2d",
    group="fdtd",
    build=build,
    variants=(
        {},
        {"launches": 3},
        {"width": 64, "height": 4},
        {"width": 256, "height": 1},
        {"width": 32, "height": 8, "rows": 4},
    ),
    sizes=Ladder(lambda e: ({"n": 2**e},), start=9, rungs=3),
    reference=reference,
    # small, so that no field comes near zero, where relative differences would be meaningless
    scalars=lambda **_: {"electric": 0.0625, "magnetic": 0.09375},
    tags=("suites", "seen"),
    ranked=True,
)
