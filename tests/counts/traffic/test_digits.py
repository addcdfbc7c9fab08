"""Indices with floors: lines by hand, and as an LRU cache fetches them."""

from collections.abc import Mapping
from dataclasses import replace

import loopy as lp
import numpy as np
import pytest

from perfmodel.counts import KernelCounts, count
from perfmodel.counts.traffic.footprints import Cache
from perfmodel.counts.traffic.order import with_digit_loops
from tests.corpus.kernel import make
from tests.counts.traffic.simulation import simulated

CACHES = (Cache(16, 64, 0), Cache(64, 64, 0), Cache(4096, 64, 0))


def row_sums(index: str, shape: str, bound: str = "m") -> KernelCounts:
    """Count sums over j of ``a[index]``, one for each of n work-items in groups of 32, vectors of 8 of which run."""
    unit = make(f"[n, m] -> {{ [i, j]: 0 <= i < n and 0 <= j < {bound} }}", f"out[i] = sum(j, a[{index}])",
                f"a: {shape}; out: n", assumes="n mod 32 = 0 and n >= 32 and m mod 8 = 0 and m >= 8")  # fmt: skip
    unit = lp.split_iname(unit, "i", 32, outer_tag="g.0", inner_tag="l.0")
    return replace(count(unit, cache=False), subgroup_size=8)


BLOCKS = {
    "along the loop": ("j // 8, i, j % 8", "m // 8, n, 8"), "along the lanes": ("i // 4, j, i % 4", "n // 4, m, 4"),
    "of both": ("i // 8, j // 4, j % 4, i % 8", "n // 8, m // 4, 4, 8"),
    "that begin within": ("(j + 3) // 8, i, (j + 3) % 8", "m // 8 + 1, n, 8"),
}  # fmt: skip


@pytest.mark.parametrize("order", ["serial", "vectors"])
@pytest.mark.parametrize("blocks", BLOCKS)
def test_blocks_move_the_lines_that_a_cache_moves(blocks: str, order: str) -> None:
    sizes = {"n": 64, "m": 64}
    counts = row_sums(*BLOCKS[blocks])
    for cache, moved in zip(CACHES, simulated(counts, sizes, CACHES, order), strict=True):
        traffic = counts.traffic("a", cache.bytes, 64, cache.sets, order)
        assert moved["a"].fetched == pytest.approx(traffic(**sizes).fetched, rel=0.3), cache
        assert not traffic.exact


def test_an_index_that_sizes_take_apart_stays_a_bound() -> None:
    unit = make("{ [i]: 0 <= i < n }", "out[i] = a[(n - i) // 8]", [lp.GlobalArg("a, out", np.float32, shape="n"), ...])
    counts = count(unit, cache=False)
    assert pytest.approx(4) == counts.traffic("a", 4096)(n=64).fetched  # all lines of the array: no more are touched


@pytest.mark.parametrize(("digits", "path"), [
    ({}, ("g.0", "l.0/16", 0, "k", 0, "l.0")), ({"k": (2, 8)}, ("g.0", "l.0/16", 0, "k/8", "k/2", "k", 0, "l.0")),
    ({"l.0": (16,), "g.0": (4,)}, ("g.0/4", "g.0", "l.0/16", 0, "k", 0, "l.0")),
])  # fmt: skip
def test_a_digit_is_a_loop(digits: Mapping[str, tuple[int, ...]], path: tuple[int | str, ...]) -> None:
    assert path == with_digit_loops(("g.0", "l.0/16", 0, "k", 0, "l.0"), digits)
