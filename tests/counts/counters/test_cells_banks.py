"""Bank conflicts of strided tiles, against the words that lanes touch, in plain Python."""

from __future__ import annotations

from collections import Counter

import loopy as lp
import numpy as np
import pytest

from perfmodel.counts import count


def tile(index: str, size: int, dtype: type = np.float32) -> lp.TranslationUnit:
    """Groups of 32 lanes; lane i writes one cell of a tile."""
    unit = lp.make_kernel(
        "{ [g, i]: 0 <= g < n and 0 <= i < 32 }", f"tile[{index}] = a[g, i]",
        [lp.TemporaryVariable("tile", dtype, shape=(size,), address_space=lp.AddressSpace.LOCAL), ...],
        assumptions="n >= 1", lang_version=(2018, 2),
    )
    return lp.tag_inames(lp.add_dtypes(unit, {"a": dtype}), {"g": "g.0", "i": "l.0"})


def serialised(cells: list[int], cell_bytes: int, banks: int) -> int:
    """Return the most distinct 4-byte words in one bank."""
    words = {(c * cell_bytes + byte) // 4 for c in cells for byte in range(cell_bytes)}
    return max(Counter(word % banks for word in words).values())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("stride", [0, 1, 2, 3, 8, 32])
@pytest.mark.parametrize("banks", [16, 32])
def test_strides(stride, dtype, banks):
    counts = count(tile(f"{stride}*i", 32 * 32, dtype), subgroup_size=16, cache=False)
    halves = [[stride * lane for lane in range(first, first + 16)] for first in (0, 16)]
    expected = sum(serialised(half, np.dtype(dtype).itemsize, banks) for half in halves)
    found = counts.bank_conflicts("tile", banks=banks)
    assert 5 * expected == found(n=5)
    assert found.exact
    assert "subgroup" == found.granularity


def test_lanes_one_by_one_where_the_index_is_no_multiple():
    counts = count(tile("i // 2", 32), subgroup_size=32, cache=False)
    found = counts.bank_conflicts("tile")
    assert not found.exact
    assert 32 * 3 == found(n=3)


def test_only_executing_lanes_conflict():
    unit = lp.make_kernel(
        "{ [g, i]: 0 <= g < n and 0 <= i < 32 }", "if i < 5\n tile[32*i] = a[g, i]\n end",
        [lp.TemporaryVariable("tile", np.float32, shape=(1024,), address_space=lp.AddressSpace.LOCAL), ...],
        assumptions="n >= 1", lang_version=(2018, 2),
    )  # fmt: skip
    unit = lp.tag_inames(lp.add_dtypes(unit, {"a": np.float32}), {"g": "g.0", "i": "l.0"})
    assert 5 * 7 == count(unit, subgroup_size=32, cache=False).bank_conflicts("tile")(n=7)
