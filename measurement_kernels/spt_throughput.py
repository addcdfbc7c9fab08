"""Oversubscription times instruction-level parallelism, for registers, local and global memory.

Karsin, *A Performance Model for GPU Architectures: Analysis and Design of Fundamental Algorithms* (2018), sections
4.2 to 4.4: from one work-group on the device to a thousand, each work-item with ``ilp`` independent chains.  Few
groups show the latency of an operation, and many its throughput.  Each cell of global memory is loaded
only once, so that no load finds it in a cache because of an earlier one.
"""

from __future__ import annotations

from typing import Any

import loopy as lp
import numpy as np

from perfmodel.kernels import KernelClass, Ladder, WorkGroup

ISOLATES = {"register": "op_float32_mul", "local": "local_load_32", "global": "global_load_32_stride1"}
WIDTH, CELLS = 256, 1024
STEPS = {
    "register": "acc[u] = acc[u]*q + p", "local": "acc[u] = acc[u] + tile[l + t + 256*u]",
    "global": "acc[u] = acc[u] + a[i, u, t, m]",
}


def chains(memory: str = "global", ilp: int = 1, work_group: WorkGroup = ()) -> lp.TranslationUnit:
    """Build `n` work-items of `ilp` chains, each with `k` times `repeats` operations or accesses of a kind of memory.

    `memory` is "register", "local" or "global".  Each cell of global memory is loaded once.
    """
    tile, cells_held = memory == "local", max(2 * CELLS, 256 * (ilp + 1))
    step = STEPS[memory].replace("a[i,", f"a[{WIDTH}*g + l,")
    cells = [f"{{[c]: 0 <= c < {cells_held}}}"] if tile else []
    fetch = ["tile[c] = cells[c] {id=put}"] if tile else []
    scalars = [lp.ValueArg("p, q", np.float32)] if memory == "register" else []
    arrays = {"local": [lp.GlobalArg("cells", np.float32, shape=cells_held)],
              "global": [lp.GlobalArg("a", np.float32, shape=f"n, {ilp}, k, repeats", order="F")]}.get(memory, [])
    local = lp.AddressSpace.LOCAL
    temporaries = [lp.TemporaryVariable("tile", np.float32, shape=cells_held, address_space=local)] if tile else []
    bound = " and k <= 256" if tile else ""
    t_unit = lp.make_kernel(
        [*cells, f"{{[g, l]: 0 <= l < {WIDTH} and 0 <= {WIDTH}*g + l < n}}",
         "{[m]: 0 <= m < repeats}", "{[t]: 0 <= t < k}", f"{{[u, y, z]: 0 <= u, y, z < {ilp}}}"],
        [
            "for g", *fetch, "for l",
            "acc[y] = 1 {id=first}",
            "for m, t, u", f"{step} {{id=step, dep={'first:put' if tile else 'first'}}}", "end",
            f"out[{WIDTH}*g + l] = sum(z, acc[z]) {{dep=step}}",
            "end", "end",
        ],
        [
            *arrays, *scalars, lp.GlobalArg("out", np.float32, shape="n"),
            *temporaries,
            lp.TemporaryVariable("acc", np.float32, shape=(ilp,)),
            lp.ValueArg("n, k, repeats", np.int32),
        ],
        assumptions=f"n >= 1 and n mod {WIDTH} = 0 and k >= 1 and repeats >= 1{bound}",
        name=f"{memory}_{ilp}",
        lang_version=(2018, 2),
    )  # fmt: skip
    t_unit = lp.split_iname(t_unit, "c", WIDTH, inner_tag="l.0") if tile else t_unit
    t_unit = lp.tag_inames(t_unit, {"g": "g.0", "l": "l.0", "u": "unr", "y": "unr", "z": "unr"})
    return lp.prioritize_loops(t_unit, "m, t, u")


def chains_reference(arguments: dict[str, Any], memory: str, ilp: int, **variant: Any) -> dict[str, Any]:
    """Return the sums that the chains of :func:`chains` leave."""
    n, k, repeats = (arguments[name] for name in ("n", "k", "repeats"))
    if memory == "global":
        return {"out": ilp + arguments["a"].sum(axis=(1, 2, 3), dtype=float)}
    if memory == "local":
        cells = arguments["cells"].astype(float)
        first = np.arange(WIDTH)[:, np.newaxis] + 256 * np.arange(ilp)
        sums = sum(cells[first + t].sum(axis=1) for t in range(k))
        return {"out": np.tile(ilp + repeats * sums, n // WIDTH)}
    value = 1.0
    for _ in range(k * repeats):
        value = value * arguments["q"] + arguments["p"]
    return {"out": np.full(n, ilp * value)}


KERNEL = KernelClass(
    name="spt_throughput",
    group="spt",
    build=chains,
    variants=tuple({"memory": memory, "ilp": ilp} for ilp in (1, 2, 4) for memory in ("register", "local", "global")),
    sizes=Ladder(lambda e: ({"n": 2**e, "k": 64, "repeats": 8},), start=8, step=2, rungs=6),
    reference=chains_reference,
    scalars=lambda memory, **_: {"p": 0.03125, "q": 0.96875} if memory == "register" else {},
    tags=("spt", "overhead"),
    isolates=lambda memory, **_: ISOLATES[memory],
    doubles="repeats",
    tolerance=1e-3,
)
