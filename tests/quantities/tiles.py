"""A kernel with local memory, for tests of several quantities."""

import loopy as lp
import numpy as np

from perfmodel.counts import KernelCounts, count


def tile(stride: int) -> KernelCounts:
    """Work-groups of 64 that store a tile in local memory and load it back with a stride [4 bytes]."""
    t_unit = lp.make_kernel(
        "{[g, l, m]: 0 <= g < n/64 and 0 <= l, m < 64}",
        ["tile[l] = a[64*g + l] {id=fill}", f"out[64*g + m] = tile[{stride}*m] {{dep=fill}}"],
        [
            lp.GlobalArg("a, out", np.float32, shape="n"), lp.ValueArg("n", np.int32),
            lp.TemporaryVariable("tile", np.float32, shape=64 * max(stride, 1), address_space=lp.AddressSpace.LOCAL),
        ],
        assumptions="n >= 64 and n mod 64 = 0", lang_version=(2018, 2),
    )  # fmt: skip
    return count(lp.tag_inames(t_unit, {"g": "g.0", "l": "l.0", "m": "l.0"}), subgroup_size=32)
