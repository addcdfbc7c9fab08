"""The base case of MGPU's pairwise mergesort: each group sorts its block, `each` elements by each work-item.

Karsin's dissertation (2018), section 7.1. A group loads its block into local memory by coalesced loads, each work-item
sorts its elements in registers by an odd-even network, and log b rounds merge runs: at the start of a round all
elements are stored to local memory, then each work-item finds its part by merge path and merges it into registers.
"""

from __future__ import annotations

import loopy as lp
import numpy as np

from perfmodel.kernels import KernelClass, Ladder
from test_kernels.papers._sorting import EXCHANGED, MERGE, MERGING, SEARCH, odd_even, rows_in_order, sorting_kernel

GROUP = 128
ROUNDS = GROUP.bit_length() - 1
EACH = (15, 11, 31, 7)
OF_ROUND = ("items", "lefts", "base")

TEXT = """
    for g, t
        for f
            part[f*{group} + t] = a[g, f*{group} + t]
        end
        for k
            own[k] = part[t*{each} + k]
        end
        {network}
        items = 1
        for r
            for h
                part[t*{each} + h] = own[h]
            end
            lefts = items*{each}
            base = (t // (2*items))*2*lefts
            d = t*{each} - base
            {search}
            {merge}
            items = 2*items
        end
        for p
            part[t*{each} + p] = own[p]
        end
        for q
            out[g, q*{group} + t] = part[q*{group} + t]
        end
    end
"""


def build(each: int = 15) -> lp.TranslationUnit:
    block = GROUP * each
    cell = f"part[base + {{0}} if base + {{0}} < {block} else 0]".format
    runs = {"d": "d", "lefts": "lefts", "rights": "lefts", "end": "2*lefts"}
    right = "lefts + d - 1 - m_middle"
    search = SEARCH.format(
        **runs, step="s", m="m", left="part[base + m_middle]",
        right=f"part[base + ({right} if {right} > 0 else 0)]",
    )  # fmt: skip
    merge = MERGE.format(
        **runs, at_i=cell("i"), at_j=cell("j"), at_next=cell("(i if left > 0 else j)"), result="own[e]"
    )
    loops = ", ".join("fkhpqe")
    t_unit = sorting_kernel(
        "block_sort",
        [
            f"[blocks] -> {{[g, t]: 0 <= g < blocks and 0 <= t < {GROUP}}}",
            f"{{[{loops}]: 0 <= {loops} < {each}}}",
            f"{{[r, s]: 0 <= r < {ROUNDS} and 0 <= s < {(block // 2).bit_length()}}}",
            f"{{[phase]: 0 <= phase < {each}}}",
            f"[phase] -> {{[pair]: 0 <= pair and 2*pair + (phase mod 2) + 1 < {each}}}",
        ],
        TEXT.format(group=GROUP, each=each, network=odd_even("own", "phase", "pair"), search=search, merge=merge),
        [
            lp.GlobalArg("a, out", np.float32, shape=f"blocks, {block}"), lp.ValueArg("blocks", np.int32),
        ],
        {**MERGING, **EXCHANGED, **dict.fromkeys(OF_ROUND, np.int32)},
        [
            lp.TemporaryVariable("part", np.float32, shape=block, address_space=lp.AddressSpace.LOCAL),
            lp.TemporaryVariable("own", np.float32, shape=each, address_space=lp.AddressSpace.PRIVATE),
        ],
        "blocks >= 1",
    )
    return lp.tag_inames(t_unit, {"g": "g.0", "t": "l.0"})


KERNEL = KernelClass(
    name="block_sort",
    group="sorting",
    build=build,
    variants=tuple({"each": each} for each in EACH),
    sizes=Ladder(lambda e: ({"blocks": 2**e},), start=4, step=2, rungs=3),
    reference=rows_in_order,
    tolerance=0.0,
    tags=("papers", "local"),
)
