"""A kernel with local memory, for tests of several quantities."""

import loopy as lp

from perfmodel.counts import KernelCounts, count
from tests.corpus.kernel import make


def tile(stride: int) -> KernelCounts:
    """Work-groups of 64 that store a tile in local memory and load it back with a stride [4 bytes]."""
    t_unit = make("{[g, l, m]: 0 <= g < n/64 and 0 <= l, m < 64}",
                  ["tile[l] = a[64*g + l] {id=fill}", f"out[64*g + m] = tile[{stride}*m] {{dep=fill}}"],
                  f"a, out: n; local tile: {64 * max(stride, 1)}", assumes="n >= 64 and n mod 64 = 0")  # fmt: skip
    return count(lp.tag_inames(t_unit, {"g": "g.0", "l": "l.0", "m": "l.0"}), subgroup_size=32)
