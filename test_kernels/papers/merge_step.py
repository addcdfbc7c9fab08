"""One round of the pairwise mergesort: pairs of sorted runs are merged, `each` elements by each work-item.

Karsin's dissertation (2018), section 7.1. Merge path: the first d elements of the result are the first m of the left
run and the first d - m of the right one, and a binary search finds m. "direct" searches and merges in global memory.
"staged" works like MGPU: each group searches its part and loads it into local memory, where its work-items search their
parts and merge; the results go through local memory too, so that a group reads and writes neighbouring cells.
"""

from __future__ import annotations

from typing import Any

import loopy as lp
import numpy as np

from perfmodel.kernels import KernelClass, Ladder
from test_kernels.papers._sorting import MERGE, MERGING, SEARCH, rows_in_order, sorting_kernel

GROUP = 128
#: A multiple of each number of elements that a work-item merges.
PART = 240
SHORTEST = GROUP * PART // 2
EACH = (15, 1, 240, 3, 5, 8, 16, 30, 60, 120)

DIRECT = """
    for p, g, t
        d = (g*{group} + t)*{each}
        {search}
        {merge}
    end
"""

STAGED = """
    for p, g
        for q
            g_d = (g + q)*{block}
            {search}
            splits[q] = g_m
        end
        for t
            lefts = splits[1] - splits[0]
            from_left = splits[0]
            from_right = run + g*{block} - splits[0] - lefts
            for f
                part[f*{group} + t] = a[p, (from_left if f*{group} + t < lefts else from_right) + f*{group} + t]
            end
            d = t*{each}
            {search_part}
            {merge}
            for h
                part[t*{each} + h] = merged[h]
            end
            for k
                out[p, g*{block} + k*{group} + t] = part[k*{group} + t]
            end
        end
    end
"""


def direct(each: int) -> str:
    cell = "a[p, {0} if {0} < 2*run else 0]".format
    runs = {"d": "d", "lefts": "run", "rights": "run", "end": "2*run"}
    search = SEARCH.format(**runs, step="s", m="m", left="a[p, m_middle]", right="a[p, run + d - 1 - m_middle]")
    merge = MERGE.format(
        **runs, at_i="a[p, i]", at_j=cell("j"), at_next=cell("(i if left > 0 else j)"),
        result=f"out[p, (g*{GROUP} + t)*{each} + e]",
    )  # fmt: skip
    return DIRECT.format(group=GROUP, each=each, search=search, merge=merge)


def staged(each: int) -> str:
    block = GROUP * each
    cell = f"part[{{0}} if {{0}} < {block} else 0]".format
    runs = {"d": "d", "lefts": "lefts", "rights": f"({block} - lefts)", "end": block}
    search = SEARCH.format(
        d="g_d", lefts="run", rights="run", step="s", m="g_m", left="a[p, g_m_middle]",
        right="a[p, run + g_d - 1 - g_m_middle]",
    )  # fmt: skip
    right = "lefts + d - 1 - m_middle"
    search_part = SEARCH.format(
        **runs, step="u", m="m", left="part[m_middle]", right=f"part[{right} if {right} > 0 else 0]"
    )  # fmt: skip
    merge = MERGE.format(
        **runs, at_i=cell("i"), at_j=cell("j"), at_next=cell("(i if left > 0 else j)"), result="merged[e]"
    )
    return STAGED.format(
        group=GROUP, each=each, block=block, search=search, search_part=search_part, merge=merge
    )


OF_GROUP = ("g_d", "g_m", "g_m_most", "g_m_middle", "g_m_after", "lefts", "from_left", "from_right")


def build(form: str = "direct", each: int = 15) -> lp.TranslationUnit:
    block, levels = GROUP * each, (GROUP * each).bit_length()
    bounds = f"0 <= p < pairs and 0 <= g < 2*run/{block} and 0 <= s < levels and 0 <= e < {each} and 0 <= t < {GROUP}"
    names = "p, g, t, s, e"
    variables = dict(MERGING)
    arrays = []
    if form == "staged":
        names += ", q, f, u, h, k"
        bounds += f" and 0 <= q < 2 and 0 <= f, h, k < {each} and 0 <= u < {levels}"
        variables |= {**dict.fromkeys(OF_GROUP, np.int32), "g_m_more": np.int8}
        arrays = [
            lp.TemporaryVariable("splits", np.int32, shape=2, address_space=lp.AddressSpace.LOCAL),
            lp.TemporaryVariable("part", np.float32, shape=block, address_space=lp.AddressSpace.LOCAL),
            lp.TemporaryVariable("merged", np.float32, shape=each, address_space=lp.AddressSpace.PRIVATE),
        ]
    t_unit = sorting_kernel(
        f"merge_{form}",
        f"{{[{names}]: {bounds}}}",
        (staged if form == "staged" else direct)(each),
        [lp.GlobalArg("a, out", np.float32, shape="pairs, 2*run"), lp.ValueArg("pairs, run, levels", np.int32)],
        variables,
        arrays,
        f"pairs >= 1 and levels >= 1 and run >= {SHORTEST} and run mod {SHORTEST} = 0",
        silenced=["write_race(*)"],
    )
    return lp.tag_inames(t_unit, {"p": "g.1", "g": "g.0", "t": "l.0", **({"q": "l.0"} if form == "staged" else {})})


def rounds(exponent: int) -> tuple[dict[str, int], ...]:
    """The rounds that sort PART * GROUP * 2^exponent elements, from the shortest runs on; the last round is first."""
    return tuple(
        {"pairs": 2**k, "run": SHORTEST * 2 ** (exponent - k), "levels": (SHORTEST * 2 ** (exponent - k)).bit_length()}
        for k in range(exponent + 1)
    )


def sorted_runs(generator: np.random.Generator, shape: tuple[int, ...]) -> Any:
    """Pairs of sorted runs, shape (pairs, 2 run)."""
    halves = generator.uniform(0.5, 2.0, (shape[0], 2, shape[1] // 2))
    return np.sort(halves, axis=2).reshape(shape).astype(np.float32)


KERNEL = KernelClass(
    name="merge_step",
    group="sorting",
    build=build,
    variants=(*({"form": form, "each": each} for each in EACH for form in ("staged", "direct")),),
    sizes=Ladder(rounds, start=0, step=2, rungs=2),
    reference=rows_in_order,
    contents={"a": sorted_runs},
    tolerance=0.0,
    tags=("papers", "ranking", "local"),
    ranked=True,
)
