"""Potentials of particles in boxes, from the particles of adjacent boxes: the U-list of the fast multipole method.

Kim et al. (2012), chapter 3: each of `boxes` boxes holds q particles, and phi_i = sum_j d_j / |x_i - x_j| goes over all
particles j of the 27 boxes that the U-list names, without i itself.  A particle is four words: three coordinates and
its density.  Six optimisations (section 3.5.1 and figure 4.5) can be switched on one by one:

- `vecpack`: an array for each component; else particles one after the other as in Listing 3.1.
- `rsqrt`: d rsqrt(r^2) instead of d / sqrt(r^2).
- `shmem`: a group keeps a tile of sources in local memory.
- `ujam`: a work-item has four targets, and uses each source that it loads four times.
- `tight`: the loop over sources is unrolled, so that interactions take a larger part of its time.
- `pref`: the next source of a tile is loaded into registers before the current one is used.

Sources come in tiles of 64, and 64 work-items are in a group.  With `room` the local memory has room for that many
sources, as for all boxes of a U-list at once; the kernel does not use the rest.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import loopy as lp
import numpy as np

from perfmodel.kernels import KernelClass, Ladder

TOGGLES = ("vecpack", "rsqrt", "shmem", "ujam", "tight", "pref")
NEIGHBOURS, TARGETS, TILE = 27, 4, 64
UNROLLED = 4
LAYOUTS = {False: "N2,N1,N0", True: "N1,N0,N2"}
#: Replaces the distance 0 of a particle from itself, so that its term is smaller than the last bit of the sum.
FAR = 1e38
COMPONENTS = tuple(enumerate("xyzd"))


def build(
    vecpack: bool = False,
    rsqrt: bool = False,
    shmem: bool = False,
    ujam: bool = False,
    tight: bool = False,
    pref: bool = False,
    room: int = TILE,
) -> lp.TranslationUnit:
    t_unit = lp.make_kernel(
        [
            "[boxes, q] -> {[box, target]: 0 <= box < boxes and 0 <= target < q}",
            f"[q] -> {{[k, tile]: 0 <= k < {NEIGHBOURS} and 0 <= tile and {TILE}*tile < q}}",
            f"{{[j]: 0 <= j < {TILE - pref}}}",
        ],
        "\n".join([f"there(j_, c_) := particle[u, {TILE}*tile + j_, c_]", *text(rsqrt, pref)]),
        [
            lp.GlobalArg("particle", np.float32, shape="boxes, q, 4", dim_tags=LAYOUTS[vecpack]),
            lp.GlobalArg("neighbour", np.int32, shape=f"boxes, {NEIGHBOURS}"),
            lp.GlobalArg("potential", np.float32, shape="boxes, q", is_input=False),
            lp.ValueArg("far", np.float32),
            lp.ValueArg("boxes, q", np.int32),
        ],
        assumptions=f"boxes >= 1 and q >= 1 and q mod {TILE * TARGETS} = 0",
        name="fmm",
        lang_version=(2018, 2),
        silenced_warnings=["v1_scheduler_fallback"],
    )
    t_unit = lp.split_iname(t_unit, "target", TILE * (TARGETS if ujam else 1), outer_iname="part", outer_tag="g.0")
    t_unit = lp.split_iname(t_unit, "target_inner", TILE, outer_iname="row", inner_tag="l.0", outer_tag="ilp.unr")
    t_unit = lp.add_inames_for_unused_hw_axes(lp.tag_inames(t_unit, "box:g.1"))
    if shmem:
        t_unit = staged(t_unit, vecpack, room)
    if tight:
        t_unit = lp.split_iname(t_unit, "j", UNROLLED, inner_tag="unr")
    return lp.prioritize_loops(t_unit, "k, tile, j_outer" if tight else "k, tile, j")


def staged(t_unit: lp.TranslationUnit, vecpack: bool, room: int) -> lp.TranslationUnit:
    """Keep the sources of a tile in local memory, in the layout of global memory."""
    t_unit = lp.precompute(
        t_unit,
        "there",
        ["j"],
        precompute_inames=["source", "component"],
        precompute_outer_inames=frozenset({"box", "part", "k", "tile"}),
        temporary_name="staged",
        temporary_address_space=lp.AddressSpace.LOCAL,
        default_tag=None,
    )
    kernel = t_unit.default_entrypoint
    array = kernel.temporary_variables["staged"].copy(shape=(room, 4), dim_tags="N0,N1" if vecpack else "N1,N0")
    t_unit = t_unit.with_kernel(kernel.copy(temporary_variables={**kernel.temporary_variables, "staged": array}))
    return lp.tag_inames(t_unit, "source:l.0, component:unr")


def text(rsqrt: bool, pref: bool) -> list[str]:
    """Return the instructions; with `pref` each trip of the loop over a tile loads the source of the next trip."""
    lines = ["for box, target"]
    lines += [f"<> t{name} = particle[box, target, {c}] {{id=t{name}}}" for c, name in COMPONENTS[:3]]
    lines += ["<> phi = 0.0f {id=phi}", "end", "for box, k", "<> u = neighbour[box, k] {id=u}", "for tile"]
    loads = [f"<> {name} = there({{}}, {c}) {{{{id={name}, dep=u}}}}" for c, name in COMPONENTS]
    if pref:
        lines += [line.format(0) for line in loads]
        lines += ["for j", *(f"<> next_{name} = there(j + 1, {c}) {{id=next_{name}, dep=u}}" for c, name in COMPONENTS)]
        lines += interaction("", rsqrt, "phi", ":".join(f"next_{name}" for _, name in COMPONENTS))
        lines += [f"{name} = next_{name} {{id=step_{name}, dep=next_{name}:more:rx:ry:rz}}" for _, name in COMPONENTS]
        lines += ["end", *interaction("last_", rsqrt, "more", ":".join(f"step_{name}" for _, name in COMPONENTS))]
    else:
        lines += ["for j", *(line.format("j") for line in loads), *interaction("", rsqrt, "phi"), "end"]
    last = "last_more" if pref else "more"
    return [*lines, "end", "end", "for box, target", f"potential[box, target] = phi {{dep={last}}}", "end"]


def interaction(prefix: str, rsqrt: bool, *after: str) -> list[str]:
    """Return the instructions that add a source's term to the potential of each target."""
    first, lines = ":".join(after), ["for target"]
    lines += [
        f"<> {prefix}r{name} = t{name} - {name} {{id={prefix}r{name}, dep=t{name}:{name}:{first}}}" for name in "xyz"
    ]
    square = " + ".join(f"{prefix}r{name}*{prefix}r{name}" for name in "xyz")
    lines += [f"<> {prefix}rr = {square} {{id={prefix}rr, dep={prefix}rx:{prefix}ry:{prefix}rz}}"]
    lines += [f"<> {prefix}apart = {prefix}rr if {prefix}rr > 0 else far {{id={prefix}apart, dep={prefix}rr}}"]
    term = f"d*rsqrt({prefix}apart)" if rsqrt else f"d/sqrt({prefix}apart)"
    return [*lines, f"phi = phi + {term} {{id={prefix}more, dep={prefix}apart:d:{first}}}", "end"]


def neighbours(generator: np.random.Generator, shape: tuple[int, ...]) -> Any:
    """Return each box's neighbours and the box itself, shape (boxes, 27), in a periodic grid.

    The grid's sides are powers of two, as equal as possible.
    """
    boxes = shape[0]
    exponent = boxes.bit_length() - 1
    sides = tuple(2 ** ((exponent + k) // 3) for k in range(3))
    here = np.stack(np.unravel_index(np.arange(boxes), sides))[:, :, np.newaxis]
    steps = np.array(list(product((-1, 0, 1), repeat=3))).T[:, np.newaxis]
    return np.ravel_multi_index(tuple(here + steps), sides, mode="wrap").astype(np.int32)


def reference(arguments: dict[str, Any], **variant: Any) -> dict[str, Any]:
    particle = np.asarray(arguments["particle"], np.float64)
    potential = np.empty(particle.shape[:2])
    for box, around in enumerate(arguments["neighbour"]):
        for row, place in enumerate(particle[box, :, :3]):
            others = particle[around].reshape(-1, 4)
            square = ((others[:, :3] - place) ** 2).sum(axis=1)
            square[square == 0] = np.inf
            potential[box, row] = (others[:, 3] / np.sqrt(square)).sum()
    return {"potential": potential}


def sizes(exponent: int) -> tuple[dict[str, int], ...]:
    """Return the sizes of a rung: 2^e quarters of a thousand particles, in boxes of 256, and of 512 from 2^6 on."""
    larger = int(exponent >= 6)
    return ({"boxes": 2 ** (exponent - larger), "q": 256 * 2**larger},)


# `pref` and `tight` exclude each other: in an unrolled loop the loads of successive sources are adjacent, and the
# copies of `pref` disappear.  `pref` with `shmem` takes the next source from local memory, as in
# the last bar of figure 4.5.  There are 48 combinations; the study has 44, and does not list the omitted ones.
COMBINATIONS = tuple(
    {name: True for name, taken in zip(TOGGLES, choice, strict=True) if taken}
    for choice in product((False, True), repeat=len(TOGGLES))
    if not choice[-1] or not choice[-2]
)
#: Room for all 27 boxes with 4096 particles each, 1.7 MiB: more local memory than common devices have.
TOO_LARGE = {"shmem": True, "room": NEIGHBOURS * 4096}

KERNEL = KernelClass(
    name="fmm",
    group="boxes",
    build=build,
    variants=(*COMBINATIONS[:1], TOO_LARGE, *COMBINATIONS[1:]),
    sizes=Ladder(sizes, start=2, step=2),
    reference=reference,
    scalars=lambda **_: {"far": FAR},
    contents={"neighbour": neighbours},
    tags=("papers",),
    ranked=True,
)
