"""Batched predecessor search in local memory (Karsin 2018, section 6.2): 2^levels words, fetched by each work-group.

"naive" is binary search.  With "free" and "limited" each lane of a warp starts at its own bank, and stays in this bank
in steps of 32 words and more.  Then "free" counts the keys not larger than the query among 32 words, bank after bank;
"limited" continues the bisection.  The list begins with 32 words not larger than any query, and 32 larger words follow
it (the dissertation pads its input too).
"""

from __future__ import annotations

from typing import Any

import loopy as lp
import numpy as np

from perfmodel.kernels import KernelClass, Ladder
from test_kernels.papers._search import ITEMS, LEAST, MOST, WARP, nothing_found, random_queries, searched, spaced_keys

BITS = 5
TURNS = 64
FETCH = """
    for fetch
        if {place} < {length}
            table[{place}] = keys[{place}]
        end
    end
"""
STEPS = """
    <int32> at = {start}
    for level
        <int32> step = {words} >> (level + 1)
        at = at + (step if table[at + step] <= query else 0)
    end
"""
SCAN = "at = at - 1 + sum(place, (1 if table[at + place] <= query else 0))"


def build(form: str = "naive", levels: int = 10) -> lp.TranslationUnit:
    words, halves = 2**levels, levels - BITS * (form == "free")
    body = STEPS.format(start="0" if form == "naive" else "lane", words=words)
    return searched(
        f"search_{form}",
        body + SCAN * (form == "free"),
        arrays={"keys": str(words + WARP)},
        domains=(
            f"{{[level]: 0 <= level < {halves}}}",
            f"{{[fetch]: 0 <= fetch <= {words // ITEMS}}}",
            *((f"{{[place]: 0 <= place < {WARP}}}",) * (form == "free")),
        ),
        turns=TURNS,
        before=FETCH.format(place=f"{ITEMS}*fetch + {WARP}*warp + lane", length=words + WARP),
        local={"table": (words + WARP,)},
    )


def padded_keys(_: np.random.Generator, shape: tuple[int, ...]) -> Any:
    """Sorted keys between 32 words of the least and 32 of the largest number, shape (words + 32,)."""
    keys = np.append(spaced_keys(shape[0] - WARP), np.full(WARP, MOST, np.int32))
    keys[:WARP] = LEAST
    return keys


def reference(arguments: dict[str, Any], **variant: Any) -> dict[str, Any]:
    return {"found": np.searchsorted(arguments["keys"], arguments["queries"], side="right") - 1}


KERNEL = KernelClass(
    name="search_local",
    group="search",
    build=build,
    variants=tuple(
        {"form": form, "levels": levels} for levels in (10, 6, 8, 12, 13, 14) for form in ("naive", "free", "limited")
    ),
    sizes=Ladder(lambda e: ({"q": 2**e},), start=15, step=2, rungs=3),
    reference=reference,
    contents={"keys": padded_keys, "queries": random_queries, "found": nothing_found},
    tolerance=0.0,
    tags=("papers", "local"),
)
