"""Stride-1 accesses of 8 to 128 bits: sums that load, copies that load and store, fills that store.

64 and 128 bits are double and complex numbers, or the OpenCL vectors float2, float4 and double2.
"""

from __future__ import annotations

from typing import Any

import loopy as lp
import numpy as np

from perfmodel.kernels import KernelClass, Ladder, WorkGroup, assume

#: Element type, and number of elements of one access.
ELEMENTS = {
    "float64": (np.float64, 1), "float4": (np.float32, 4), "complex128": (np.complex128, 1),
    "float2": (np.float32, 2), "double2": (np.float64, 2), "int16": (np.int16, 1),
    "int8": (np.int8, 1),
}  # fmt: skip
STATEMENTS = {
    "sum": "out[i{v}] = sum(r, a[i, r{v}])",
    "copy": "out[i, r{v}] = a[i, r{v}]",
    "fill": "out[i, r{v}] = value",
}


def build(element: str = "float64", form: str = "copy", work_group: WorkGroup = (256,)) -> lp.TranslationUnit:
    dtype, lanes = ELEMENTS[element]
    v, axis = (", v", ",vec") if lanes > 1 else ("", "")
    wide, flat = (f"n, k{v and f', {lanes}'}", f"N0,N1{axis}"), (f"n{v and f', {lanes}'}", f"N0{axis}")
    arrays = {"out": flat if form == "sum" else wide}
    if form != "fill":
        arrays["a"] = wide
    t_unit = lp.make_kernel(
        f"{{[i, r{v}]: 0 <= i < n and 0 <= r < k{v and f' and 0 <= v < {lanes}'}}}",
        STATEMENTS[form].format(v=v),
        [
            *(lp.GlobalArg(name, dtype, shape=shape, dim_tags=tags) for name, (shape, tags) in arrays.items()),
            *([lp.ValueArg("value", dtype)] if form == "fill" else []),
            lp.ValueArg("n, k", np.int32),
        ],
        assumptions=assume(n=work_group, k=()),
        name=f"{form}_{element}",
        lang_version=(2018, 2),
        silenced_warnings=["v1_scheduler_fallback"],
    )
    t_unit = lp.split_iname(t_unit, "i", work_group[0], outer_tag="g.0", inner_tag="l.0")
    return lp.tag_inames(t_unit, "v:vec") if lanes > 1 else t_unit


def reference(arguments: dict[str, Any], form: str, **variant: Any) -> dict[str, Any]:
    if form == "fill":
        return {"out": np.full_like(arguments["out"], arguments["value"])}
    a = arguments["a"]
    return {"out": a.sum(axis=1, dtype=a.dtype) if form == "sum" else a}


def isolates(element: str, form: str, **variant: Any) -> str:
    dtype, lanes = ELEMENTS[element]
    kind = {"sum": "load", "copy": "minloadstore", "fill": "store"}[form]
    return f"global_{kind}_{8 * np.dtype(dtype).itemsize * lanes}_stride1"


KERNEL = KernelClass(
    name="access_width",
    group="vector",
    build=build,
    variants=(
        *({"element": element, "form": form} for form in ("sum", "copy") for element in ELEMENTS),
        *({"element": element, "form": "fill"} for element in ("float64", "float4", "int16", "int8")),
    ),
    sizes=Ladder(lambda e: ({"n": 2**e, "k": 16},), start=10, step=2, rungs=3),
    reference=reference,
    dimensions=1,
    scalars=lambda form, **_: {"value": 1.25} if form == "fill" else {},
    tags=("memory",),
    isolates=isolates,
    doubles="k",
)
