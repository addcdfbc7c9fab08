"""Chains side by side in a work-item: operations on registers, or accesses to local or global memory (Karsin 2018)."""

from __future__ import annotations

from typing import Any

import loopy as lp
import numpy as np

from perfmodel.kernels.kernel_class import WorkGroup

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
