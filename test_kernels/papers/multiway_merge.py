"""A merge of GPU-MMS: a group of 32 work-items, one for each lane of a warp, merges `ways` sorted runs by a heap.

Karsin's dissertation (2018), section 7.3.1. A node of the heap holds 32 elements in order, all of them below those of
its children; the leaves are the runs. The root is stored, and filled again: the smaller half of its children's elements
goes up, the child with the larger last element keeps the larger half, and the other child is filled next, down to a
leaf, which loads the next elements of its run. The dissertation merges in registers by shuffles, which OpenCL 1.2 and
Loopy lack: here the network of a merge is in local memory, with a barrier after each step. At first all nodes above the
leaves hold elements below all keys, which leave the heap first and are not stored.
"""

from __future__ import annotations

from typing import Any

import loopy as lp
import numpy as np

from perfmodel.kernels import KernelClass, Ladder
from test_kernels.papers._sorting import EXCHANGED, bitonic_merge, sorting_kernel

WARP = 32
WAYS = (8, 4, 16, 2)
RUN = 32
"""Elements of a run, in warps: a square that a shearsort has sorted."""
BELOW, ABOVE = "-3.0e38f", "3.0e38f"
INTEGERS = ("node", "child", "kept", "leaf", "next")

TEXT = """
    for g, l
        for v
            heap[v, l] = {below}
        end
        for u
            heap[{inner} + u, l] = a[g, u, l]
            loaded[u] = 1
        end
        for o
            if o >= {inner}
                out[g, {warp}*(o - {inner}) + l] = heap[0, l]
            end
            node = 0
            for level
                child = 2*node + 1
                kept = child if heap[child, {last}] > heap[child + 1, {last}] else child + 1
                both[l] = heap[child, l]
                both[{warp} + l] = heap[child + 1, {last} - l]
                {network}
                heap[node, l] = both[l]
                heap[kept, l] = both[{warp} + l]
                node = 2*child + 1 - kept
            end
            leaf = node - {inner}
            next = loaded[leaf]
            heap[node, l] = a[g, leaf, {warp}*(next if next < run else 0) + l] if next < run else {above}
            loaded[leaf] = next + 1
        end
    end
"""


def build(ways: int = 8) -> lp.TranslationUnit:
    inner, levels = ways - 1, ways.bit_length() - 1
    t_unit = sorting_kernel(
        "multiway_merge",
        [
            f"[merges, run] -> {{[g, l, o]: 0 <= g < merges and 0 <= l < {WARP} and 0 <= o < {ways}*run + {inner}}}",
            f"{{[v, u, level]: 0 <= v < {inner} and 0 <= u < {ways} and 0 <= level < {levels}}}",
        ],
        TEXT.format(
            inner=inner, warp=WARP, last=WARP - 1, below=BELOW, above=ABOVE, network=bitonic_merge("both", "l", WARP)
        ),
        [
            lp.GlobalArg("a", np.float32, shape=f"merges, {ways}, {WARP}*run"),
            lp.GlobalArg("out", np.float32, shape=f"merges, {ways * WARP}*run", is_input=False),
            lp.ValueArg("merges, run", np.int32),
        ],
        {**dict.fromkeys(INTEGERS, np.int32), **EXCHANGED},
        [
            lp.TemporaryVariable("loaded", np.int32, shape=ways, address_space=lp.AddressSpace.PRIVATE),
            lp.TemporaryVariable("both", np.float32, shape=2 * WARP, address_space=lp.AddressSpace.LOCAL),
            lp.TemporaryVariable(
                "heap", np.float32, shape=(2 * ways - 1, WARP), address_space=lp.AddressSpace.LOCAL
            ),
        ],
        "merges >= 1 and run >= 1",
    )
    return lp.tag_inames(t_unit, {"g": "g.0", "l": "l.0"})


def statistics(ways: int) -> dict[str, float]:
    """Return the probabilities of the two tests: each child has the larger end equally often; few leaves run out."""
    filled = ways * RUN + ways - 1
    return {"next < run": ways * (RUN - 1) / filled, f"heap[child, {WARP - 1}] > heap[child + 1, {WARP - 1}]": 0.5}


def sorted_runs(generator: np.random.Generator, shape: tuple[int, ...]) -> Any:
    """Sorted runs, shape (merges, ways, elements of a run)."""
    return np.sort(generator.uniform(0.5, 2.0, shape), axis=-1).astype(np.float32)


def reference(arguments: dict[str, Any], **variant: Any) -> dict[str, Any]:
    runs = arguments["a"]
    return {"out": np.sort(runs.reshape(len(runs), -1), axis=1)}


KERNEL = KernelClass(
    name="multiway_merge",
    group="sorting",
    build=build,
    variants=tuple({"ways": ways} for ways in WAYS),
    sizes=Ladder(lambda e: ({"merges": 2**e, "run": RUN},), start=2, step=2, rungs=3),
    reference=reference,
    contents={"a": sorted_runs},
    statistics=statistics,
    tolerance=0.0,
    tags=("papers", "local"),
)
