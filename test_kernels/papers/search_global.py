"""Batched predecessor search in global memory (Karsin 2018, section 6.1): a sorted list, or the layout of a tree.

"sorted" is binary search in the list.  "bst" goes down the level-order layout of a binary search tree; each
work-group first fetches the top `cached` levels into local memory (the dissertation: 2^14 keys, 64 KiB).  "btree" goes
down nodes of 31 keys and 32 children, each a line of 32 words: "halves" searches a node's keys by bisection, "scan" one
after the other until a key is larger, and with "staged" a warp fetches the nodes of its 32 queries together.  The nodes
of the top `cached` levels are in local memory (section 6.1.3).
"""

from __future__ import annotations

from typing import Any

import loopy as lp
import numpy as np

from perfmodel.kernels import KernelClass, Ladder
from test_kernels.papers._search import (
    ITEMS,
    WARP,
    WARPS,
    keys_of,
    level_order,
    node_count,
    node_order,
    nothing_found,
    random_queries,
    root_children,
    searched,
    spaced_keys,
)

ARRAYS = {"keys": "n", "tree": "n", "nodes": f"m, {WARP}"}
SIZES = ("n", "m", "depth", "height", "roots")
BITS = 5
TURNS = 256
SORTED = """
    <int32> at = 0
    for level
        <int32> step = n >> (level + 1)
        at = at + (step if keys[at + step] <= query else 0)
    end
"""
DOWN = "at = 2*at + 1 + (1 if {table}[at] <= query else 0)"
#: Rows of nodes that a group fetches: the root, its 32 children, and rows that fill the last round.
FETCHED = 36
CACHED_NODES = f"""
    for fetch
        top[{WARPS}*fetch + warp, lane] = nodes[{WARPS}*fetch + warp, lane]
    end
"""
CACHED = "for fetch\n top[{place}] = tree[{place}]\n end".format(place=f"{ITEMS}*fetch + {WARP}*warp + lane")
START = """
    <int32> at = 0
    <int32> first = 0
    <int32> count = 1
"""
LEVELS = """
    for {level}
        {search}
        at = {warp}*at + child
        first = first + count
        count = roots if {level} < 1 else {warp}*count
    end
"""
HALVES = """
        <int32> child = 0
        for {probe}
            <int32> step = 16 >> {probe}
            child = child + (step if {place} <= query else 0)
        end
"""
SEARCHES = {
    "halves": HALVES.format(probe="probe", place="nodes[first + at, child + step - 1]"),
    "scan": """
        <int32> child = 0
        <int32> searching = 1
        for key
            <int32> wanted = searching
            if wanted > 0
                searching = (1 if nodes[first + at, key] <= query else 0)
                child = child + searching
            end
        end
""",
    "staged": """
        place[warp, lane] = first + at
        for row
            node[warp, row, lane] = nodes[place[warp, row], lane]
        end
""" + HALVES.format(probe="probe", place="node[warp, lane, child + step - 1]"),
}  # fmt: skip
INNER = {
    "halves": (f"{{[probe]: 0 <= probe < {BITS}}}",),
    "scan": (f"{{[key]: 0 <= key < {WARP - 1}}}",),
    "staged": (f"{{[probe]: 0 <= probe < {BITS}}}", f"{{[row]: 0 <= row < {WARP}}}"),
}


def scanned_share(children: int) -> float:
    """Return the share of a node's keys that a scan looks at [1], for random queries.

    A node has `children` - 1 keys.  Child j is taken after j + 1 keys, the last one after all of them.

    Examples
    --------
    >>> scanned_share(4)  # (1 + 2 + 3 + 3) / 4 of 3 keys
    0.75
    """
    keys = children - 1
    return (keys * (keys + 1) / 2 + keys) / (children * keys)


def build(layout: str = "sorted", cached: int = 0, node: str = "halves") -> lp.TranslationUnit:
    common: dict[str, Any] = {"arrays": ARRAYS, "sizes": SIZES}
    if layout == "sorted":
        return searched("sorted", SORTED, domains=("[depth] -> {[level]: 0 <= level < depth}",), **common)
    if layout == "btree":
        local: dict[str, tuple[int, ...]] = {}
        if node == "staged":
            local |= {"place": (WARPS, WARP), "node": (WARPS, WARP, WARP + 1)}
        body = LEVELS.format(level="level", search=SEARCHES[node], warp=WARP)
        domains = (f"[height] -> {{[level]: {cached} <= level < height}}", *INNER[node])
        if cached:
            top = HALVES.format(probe="first_probe", place="top[first + at, child + step - 1]")
            body = LEVELS.format(level="high", search=top, warp=WARP) + body.replace("<int32> ", "")
            common |= {
                "before": CACHED_NODES, "turns": TURNS,
                "assumptions": f"height >= {cached + 1} and roots <= {WARP} and m >= {FETCHED}",
            }  # fmt: skip
            domains += (f"{{[high, first_probe]: 0 <= high < {cached} and 0 <= first_probe < {BITS}}}",
                        f"{{[fetch]: 0 <= fetch < {FETCHED // WARPS}}}")  # fmt: skip
            local["top"] = (FETCHED, WARP)
        name = f"btree_{node}" + f"_{cached}" * bool(cached)
        return searched(name, START + body, domains=domains, local=local, **common)
    down = "\n".join(
        f"for {level}\n {DOWN.format(table=table)}\n end"
        for level, table in (("high", "top"), ("level", "tree"))[not cached :]
    )
    return searched(
        f"bst_{cached}",
        f"<int32> at = 0\n{down}\nat = at - (n - 1)",
        domains=(
            f"[depth] -> {{[level]: {cached} <= level < depth}}",
            *((f"{{[high]: 0 <= high < {cached}}}", f"{{[fetch]: 0 <= fetch < {2**cached // ITEMS}}}") * bool(cached)),
        ),
        before=CACHED * bool(cached),
        local={"top": (2**cached,)} if cached else {},
        turns=TURNS if cached else 1,
        assumptions=f"depth >= {cached + 1} and n >= {2 ** (cached + 1)}" if cached else "",
        **common,
    )


def sizes(e: int) -> tuple[dict[str, int], ...]:
    """2^e queries among 2^15 to 2^22 keys."""
    return tuple(
        {
            "q": 2**e, "n": 2**depth, "m": node_count(2**depth), "depth": depth, "height": -(-depth // BITS),
            "roots": root_children(2**depth),
        }
        for depth in (15, 17, 20, 22)
    )  # fmt: skip


def reference(arguments: dict[str, Any], **variant: Any) -> dict[str, Any]:
    return {"found": np.searchsorted(arguments["keys"], arguments["queries"], side="right") - 1}


def statistics(layout: str, node: str = "halves", **variant: Any) -> dict[str, float]:
    return {"wanted > 0": scanned_share(WARP)} if node == "scan" else {}


KERNEL = KernelClass(
    name="search_global",
    group="search",
    build=build,
    variants=(
        {"layout": "sorted"},
        {"layout": "bst"},
        {"layout": "btree"},
        {"layout": "bst", "cached": 12},
        {"layout": "btree", "node": "staged"},
        {"layout": "btree", "node": "scan"},
        {"layout": "bst", "cached": 14},
        {"layout": "btree", "cached": 2},
    ),
    sizes=Ladder(sizes, start=15, step=2, rungs=3),
    reference=reference,
    contents={
        "keys": lambda _, shape: spaced_keys(*shape),
        "tree": lambda _, shape: level_order(spaced_keys(*shape)),
        "nodes": lambda _, shape: node_order(spaced_keys(keys_of(shape[0]))),
        "queries": random_queries,
        "found": nothing_found,
    },
    statistics=statistics,
    tolerance=0.0,
    tags=("papers", "ranking"),
    ranked=True,
)
