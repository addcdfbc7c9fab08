"""The matrix Q of magnetic resonance imaging: for each of n voxels a sum of cosines and sines over k samples.

The kernel MRI-Q of Parboil: q(x) = sum_s magnitude_s exp(i 2 pi k_s x).  A sample is a frequency of three components
and a magnitude.  `layout` stores samples one after the other ("samples") or each component in a row ("components").
With `prefetch` a group keeps blocks of samples in local memory; the sum is unrolled `unroll` times; each work-item
computes `voxels` voxels.
"""

from __future__ import annotations

from typing import Any

import loopy as lp
import numpy as np

from perfmodel.kernels import KernelClass, Ladder

BLOCK = 64
LAYOUTS = {"samples": "N0,N1", "components": "N1,N0"}


def build(
    layout: str = "samples", width: int = 256, prefetch: bool = False, unroll: int = 1, voxels: int = 1
) -> lp.TranslationUnit:
    t_unit = lp.make_kernel(
        "{[i, s]: 0 <= i < n and 0 <= s < k}",
        """
        at(c, r) := sample[c, r]
        phase(r) := turn*(at(0, r)*x[i] + at(1, r)*y[i] + at(2, r)*z[i])
        real[i] = sum(s, at(3, s)*cos(phase(s)))
        imaginary[i] = sum(s, at(3, s)*sin(phase(s)))
        """,
        [
            lp.GlobalArg("sample", np.float32, shape="4, k", dim_tags=LAYOUTS[layout]),
            lp.GlobalArg("x, y, z, real, imaginary", np.float32, shape="n"),
            lp.ValueArg("turn", np.float32),
            lp.ValueArg("n, k", np.int32),
        ],
        assumptions=f"n >= 1 and n mod {width * voxels} = 0 and k >= 1 and k mod {BLOCK} = 0",
        name="mri_q",
        lang_version=(2018, 2),
        silenced_warnings=["v1_scheduler_fallback"],
    )
    t_unit = lp.split_iname(t_unit, "i", width * voxels, inner_iname="i_in", outer_tag="g.0")
    if prefetch:
        t_unit = lp.split_iname(t_unit, "s", BLOCK, inner_iname="s_in")
        t_unit = lp.precompute(
            t_unit,
            "at",
            ["s_in"],
            precompute_inames=["component", "place"],
            precompute_outer_inames=frozenset({"i_outer", "s_outer"}),
            temporary_name="block",
            default_tag=None,
        )
        t_unit = lp.prioritize_loops(lp.tag_inames(t_unit, "component:unr, place:l.0"), "s_outer, s_in")
    if unroll > 1:
        t_unit = lp.split_iname(t_unit, "s", unroll, inner_tag="unr")
    if voxels == 1:
        return lp.tag_inames(t_unit, "i_in:l.0")
    return lp.split_iname(t_unit, "i_in", width, inner_tag="l.0", outer_tag="ilp.unr")


def reference(arguments: dict[str, Any], **variant: Any) -> dict[str, Any]:
    sample = arguments["sample"].astype(float)
    place = np.stack([arguments[name] for name in "xyz"]).astype(float)
    phase = arguments["turn"] * (place.T @ sample[:3])
    return {"real": np.cos(phase) @ sample[3], "imaginary": np.sin(phase) @ sample[3]}


KERNEL = KernelClass(
    name="mri_q",
    group="mri",
    build=build,
    variants=(
        {},
        {"layout": "components"},
        {"width": 64},
        {"width": 64, "prefetch": True},
        {"unroll": 4},
        {"width": 64, "voxels": 4},
    ),
    sizes=Ladder(lambda e: ({"n": 2**e, "k": 64},), start=10, rungs=3),
    reference=reference,
    scalars=lambda **_: {"turn": 0.0625},  # phases up to 0.75: no sum comes near zero
    tags=("suites", "seen"),
    ranked=True,
)
