"""Forces of the Lennard-Jones potential on n atoms, from lists of k neighbours each.

SHOC's kernel MD, without its cut-off, which would make the work depend on data.  Neighbours in a list are at most 256
atoms away, as after sorting atoms by place.  `layout` stores the lists one after the other ("atoms") or all first
neighbours before all second ones ("neighbours"); `positions` stores an atom's coordinates side by side or in rows.
"""

from __future__ import annotations

from typing import Any

import loopy as lp
import numpy as np

from perfmodel.kernels import KernelClass, Ladder

REACH = 256
LISTS = {"atoms": "N1,N0", "neighbours": "N0,N1"}
POSITIONS = {"atoms": "N1,N0", "coordinates": "N0,N1"}


def build(
    layout: str = "neighbours", positions: str = "atoms", width: int = 256, unroll: int = 1, dtype: str = "float64"
) -> lp.TranslationUnit:
    t_unit = lp.make_kernel(
        "{[i, r]: 0 <= i < n and 0 <= r < k}",
        """
        for i
            <> x = position[i, 0] {id=x}
            <> y = position[i, 1] {id=y}
            <> z = position[i, 2] {id=z}
            <> fx = 0.0 {id=fx}
            <> fy = 0.0 {id=fy}
            <> fz = 0.0 {id=fz}
            for r
                <> other = neighbour[i, r] {id=other}
                <> dx = x - position[other, 0] {id=dx, dep=x:other}
                <> dy = y - position[other, 1] {id=dy, dep=y:other}
                <> dz = z - position[other, 2] {id=dz, dep=z:other}
                <> near = 1/(soft + dx*dx + dy*dy + dz*dz) {id=near, dep=dx:dy:dz}
                <> near6 = near*near*near {id=near6, dep=near}
                <> push = near*near6*(repel*near6 - attract) {id=push, dep=near:near6}
                fx = fx + push*dx {id=more_x, dep=fx:push:dx}
                fy = fy + push*dy {id=more_y, dep=fy:push:dy}
                fz = fz + push*dz {id=more_z, dep=fz:push:dz}
            end
            force[i, 0] = fx {dep=more_x}
            force[i, 1] = fy {dep=more_y}
            force[i, 2] = fz {dep=more_z}
        end
        """,
        [
            lp.GlobalArg("position", np.dtype(dtype), shape="n, 3", dim_tags=POSITIONS[positions]),
            lp.GlobalArg("force", np.dtype(dtype), shape="n, 3", dim_tags=POSITIONS[positions], is_input=False),
            lp.GlobalArg("neighbour", np.int32, shape="n, k", dim_tags=LISTS[layout]),
            lp.ValueArg("soft, repel, attract", np.dtype(dtype)),
            lp.ValueArg("n, k", np.int32),
        ],
        assumptions=f"n >= 1 and n mod {width} = 0 and k >= 1 and k mod 4 = 0",
        name="md_neighbours",
        lang_version=(2018, 2),
    )
    t_unit = lp.split_iname(t_unit, "i", width, outer_tag="g.0", inner_tag="l.0")
    return lp.split_iname(t_unit, "r", unroll, inner_tag="unr") if unroll > 1 else t_unit


def neighbours(generator: np.random.Generator, shape: tuple[int, ...]) -> Any:
    """For each atom, k other atoms at a distance of at most `REACH`, shape (n, k)."""
    away = generator.integers(1, REACH + 1, shape) * generator.choice((-1, 1), shape)
    return ((np.arange(shape[0])[:, np.newaxis] + away) % shape[0]).astype(np.int32)


def reference(arguments: dict[str, Any], **variant: Any) -> dict[str, Any]:
    position = arguments["position"]
    offset = position[:, np.newaxis] - position[arguments["neighbour"]]
    near = 1 / (arguments["soft"] + (offset**2).sum(axis=2))
    push = near**4 * (arguments["repel"] * near**3 - arguments["attract"])
    return {"force": (push[:, :, np.newaxis] * offset).sum(axis=1)}


KERNEL = KernelClass(
    name="md_neighbours",
    group="neighbours",
    build=build,
    variants=tuple(
        {**form, "dtype": "float64"}
        for form in (
            {},
            {"layout": "atoms"},
            {"positions": "coordinates"},
            {"width": 64},
            {"layout": "atoms", "unroll": 4},
        )
    ),
    sizes=Ladder(lambda e: ({"n": 2**e, "k": 32},), start=12, step=2, rungs=3),
    reference=reference,
    scalars=lambda **_: {"soft": 0.5, "repel": 1.5, "attract": 2.0},
    contents={"neighbour": neighbours},
    tags=("suites", "aside"),
    ranked=True,
)
