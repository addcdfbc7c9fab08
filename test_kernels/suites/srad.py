"""One step of speckle-reducing anisotropic diffusion on an image of n by n.

The two kernels of Rodinia's SRAD.  The first launch computes a diffusion coefficient for each pixel from its
differences to its four neighbours; the second updates the image with it.  A neighbour beyond the border is the pixel
itself.  Groups have `width` by `height` work-items with `rows` pixels each, whose lanes are neighbours in a row of the
image or, with `lanes` "columns", in a column.
"""

from __future__ import annotations

from typing import Any

import loopy as lp
import numpy as np

from perfmodel.kernels import KernelClass, Ladder


def build(width: int = 16, height: int = 16, rows: int = 1, lanes: str = "rows") -> lp.TranslationUnit:
    t_unit = lp.make_kernel(
        "{[i0, j0, i1, j1]: 0 <= i0, j0, i1, j1 < n}",
        """
        north(p, q) := (image[p - 1, q] if p > 0 else image[p, q]) - image[p, q]
        south(p, q) := (image[p + 1, q] if p < n - 1 else image[p, q]) - image[p, q]
        west(p, q) := (image[p, q - 1] if q > 0 else image[p, q]) - image[p, q]
        east(p, q) := (image[p, q + 1] if q < n - 1 else image[p, q]) - image[p, q]
        for i0, j0
            <> n0 = north(i0, j0)
            <> s0 = south(i0, j0)
            <> w0 = west(i0, j0)
            <> e0 = east(i0, j0)
            <> here0 = image[i0, j0]
            <> slope = (n0*n0 + s0*s0 + w0*w0 + e0*e0)/(here0*here0)
            <> bend = (n0 + s0 + w0 + e0)/here0
            <> below = 1 + 0.25f*bend
            <> speckle = (0.5f*slope - 0.0625f*bend*bend)/(below*below)
            <> free = 1/(1 + (speckle - noise)/(noise*(1 + noise)))
            c[i0, j0] = fmin(fmax(free, 0.0f), 1.0f) {id=coefficient}
        end
        ... gbarrier {id=wait, dep=coefficient}
        for i1, j1
            <> c1 = c[i1, j1] {id=own, dep=wait}
            <> below1 = (c[i1 + 1, j1] if i1 < n - 1 else c[i1, j1]) {id=below1, dep=wait}
            <> right1 = (c[i1, j1 + 1] if j1 < n - 1 else c[i1, j1]) {id=right1, dep=wait}
            <> before = c1*(north(i1, j1) + west(i1, j1)) {id=before, dep=own}
            <> after = below1*south(i1, j1) + right1*east(i1, j1) {id=after, dep=below1:right1}
            out[i1, j1] = image[i1, j1] + rate*(before + after) {dep=before:after}
        end
        """,
        [
            lp.GlobalArg("image", np.float32, shape="n, n"),
            lp.GlobalArg("c, out", np.float32, shape="n, n", is_input=False),
            lp.ValueArg("noise, rate", np.float32),
            lp.ValueArg("n", np.int32),
        ],
        assumptions=f"n >= 1 and n mod {max(width, height * rows)} = 0",
        name="srad",
        lang_version=(2018, 2),
    )
    for s in (0, 1):
        first, second = (f"j{s}", f"i{s}") if lanes == "rows" else (f"i{s}", f"j{s}")
        t_unit = lp.split_iname(t_unit, first, width, outer_tag="g.0", inner_tag="l.0")
        t_unit = lp.split_iname(t_unit, second, height * rows, inner_iname=f"item{s}", outer_tag="g.1")
        t_unit = lp.split_iname(t_unit, f"item{s}", height, inner_tag="l.1", outer_tag="unr")
    return t_unit


def reference(arguments: dict[str, Any], **variant: Any) -> dict[str, Any]:
    image, noise = arguments["image"].astype(float), float(arguments["noise"])
    wide = np.pad(image, 1, mode="edge")
    north, south = wide[:-2, 1:-1] - image, wide[2:, 1:-1] - image
    west, east = wide[1:-1, :-2] - image, wide[1:-1, 2:] - image
    slope = (north**2 + south**2 + west**2 + east**2) / image**2
    bend = (north + south + west + east) / image
    speckle = (slope / 2 - bend**2 / 16) / (1 + bend / 4) ** 2
    c = np.clip(1 / (1 + (speckle - noise) / (noise * (1 + noise))), 0, 1)
    next_c = np.pad(c, ((0, 1), (0, 1)), mode="edge")
    flow = c * (north + west) + next_c[1:, :-1] * south + next_c[:-1, 1:] * east
    return {"c": c, "out": image + arguments["rate"] * flow}


KERNEL = KernelClass(
    name="srad",
    group="diffusion",
    build=build,
    variants=(
        {},
        {"width": 64, "height": 4},
        {"width": 256, "height": 1},
        {"width": 32, "height": 8, "rows": 4},
        {"lanes": "columns"},
    ),
    sizes=Ladder(lambda e: ({"n": 2**e},), start=8, rungs=3),
    reference=reference,
    # so short a step that no pixel comes near zero
    scalars=lambda **_: {"noise": 0.5, "rate": 0.03125},
    tags=("suites", "aside"),
    ranked=True,
)
