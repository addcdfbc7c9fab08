"""Particles in boxes: for each particle sums over all particles of its own box and of the 8 boxes around it.

The pattern of Rodinia's LavaMD in two dimensions of boxes: m by n boxes with 32 particles each, and a border of boxes.
A pair at the distance r adds v = charge exp(-alpha r^2) to the potential and alpha r^2 v to the virial.  A group has
the particles of `boxes` boxes.  With `prefetch` it keeps a neighbour's particles in local memory; `unroll` pairs are
unrolled.  `layout` stores particles one after the other, or each component of all particles in one piece.
"""

from __future__ import annotations

from typing import Any

import loopy as lp
import numpy as np

from perfmodel.kernels import KernelClass, Ladder

PARTICLES = 32
LAYOUTS = {"particles": "N3,N2,N1,N0", "components": "N2,N1,N0,N3"}


def build(boxes: int = 1, prefetch: bool = False, unroll: int = 1, layout: str = "particles") -> lp.TranslationUnit:
    t_unit = lp.make_kernel(
        f"{{[x, y, p, dx, dy, q]: 0 <= x < m and 0 <= y < n and 0 <= p, q < {PARTICLES} and 0 <= dx, dy < 3}}",
        """
        there(u, v, w, c) := particle[u, v, w, c]
        for x, y, p
            <> px = particle[x + 1, y + 1, p, 0] {id=px}
            <> py = particle[x + 1, y + 1, p, 1] {id=py}
            <> pz = particle[x + 1, y + 1, p, 2] {id=pz}
            <> energy = 0.0f {id=energy}
            <> work = 0.0f {id=work}
            for dx, dy, q
                <> rx = px - there(x + dx, y + dy, q, 0) {id=rx, dep=px}
                <> ry = py - there(x + dx, y + dy, q, 1) {id=ry, dep=py}
                <> rz = pz - there(x + dx, y + dy, q, 2) {id=rz, dep=pz}
                <> bend = alpha*(rx*rx + ry*ry + rz*rz) {id=bend, dep=rx:ry:rz}
                <> pair = there(x + dx, y + dy, q, 3)*exp(-bend) {id=pair, dep=bend}
                energy = energy + pair {id=more_energy, dep=energy:pair}
                work = work + bend*pair {id=more_work, dep=work:pair:bend}
            end
            potential[x, y, p] = energy {dep=more_energy}
            virial[x, y, p] = work {dep=more_work}
        end
        """,
        [
            lp.GlobalArg("particle", np.float32, shape=f"m + 2, n + 2, {PARTICLES}, 4", dim_tags=LAYOUTS[layout]),
            lp.GlobalArg("potential, virial", np.float32, shape=f"m, n, {PARTICLES}"),
            lp.ValueArg("alpha", np.float32),
            lp.ValueArg("m, n", np.int32),
        ],
        assumptions=f"m >= 1 and n >= 1 and n mod {boxes} = 0",
        name="lava_md",
        lang_version=(2018, 2),
    )
    t_unit = lp.tag_inames(t_unit, "x:g.1, p:l.0")
    if boxes > 1:
        t_unit = lp.split_iname(t_unit, "y", boxes, outer_tag="g.0", inner_tag="l.1")
    else:
        t_unit = lp.tag_inames(t_unit, "y:g.0")
    if prefetch:
        t_unit = lp.precompute(
            t_unit,
            "there",
            ["q"],
            precompute_inames=["beside", "above", "one", "component"],
            precompute_outer_inames=frozenset({"x", "y", "dx", "dy"}),
            temporary_name="box",
            temporary_address_space=lp.AddressSpace.LOCAL,
            default_tag=None,
        )
        t_unit = lp.tag_inames(t_unit, "one:l.0, component:unr")
    t_unit = lp.prioritize_loops(t_unit, "dx, dy, q")
    return lp.split_iname(t_unit, "q", unroll, inner_tag="unr") if unroll > 1 else t_unit


def reference(arguments: dict[str, Any], **variant: Any) -> dict[str, Any]:
    particle, alpha = arguments["particle"].astype(float), float(arguments["alpha"])
    m, n = arguments["m"], arguments["n"]
    own = particle[1:-1, 1:-1, :, np.newaxis, :3]
    potential, virial = np.zeros((2, m, n, PARTICLES))
    for dx in range(3):
        for dy in range(3):
            other = particle[dx : dx + m, dy : dy + n, np.newaxis]
            bend = alpha * ((own - other[..., :3]) ** 2).sum(axis=-1)
            pair = other[..., 3] * np.exp(-bend)
            potential += pair.sum(axis=-1)
            virial += (bend * pair).sum(axis=-1)
    return {"potential": potential, "virial": virial}


KERNEL = KernelClass(
    name="lava_md",
    group="boxes",
    build=build,
    variants=(
        {},
        {"layout": "components"},
        {"prefetch": True},
        {"boxes": 4},
        {"layout": "components", "unroll": 4},
    ),
    sizes=Ladder(lambda e: ({"m": 2**e, "n": 4},), start=2, rungs=3),
    reference=reference,
    scalars=lambda **_: {"alpha": 0.25},
    tags=("suites", "aside"),
    ranked=True,
)
