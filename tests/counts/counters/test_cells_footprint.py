"""Distinct cells, and cells with their gaps filled, against sets of cells in plain Python."""

import json
from fractions import Fraction

import loopy as lp
import numpy as np
import pytest

from perfmodel.counts import KernelCounts, count
from tests.corpus.kernel import make


def counts_of(code: str, domain: str = "{ [i]: 0 <= i < n }") -> KernelCounts:
    unit = make(domain, code, [lp.GlobalArg("a", np.float32, shape="8*n + 8"), ...], assumes="n >= 1")
    unit = lp.add_dtypes(unit, {"out": np.float32})
    return count(lp.split_iname(unit, "i", 16, outer_tag="g.0", inner_tag="l.0"), cache=False)


@pytest.mark.parametrize(("code", "offsets", "stride"), [
    ("out[i] = a[i]", [0], 1), ("out[i] = a[2*i]", [0], 2), ("out[i] = a[2*i] + a[2*i + 1]", [0, 1], 2),
    ("out[i] = a[4*i] + a[4*i + 3]", [0, 3], 4), ("out[i] = a[i] + a[i + 1] + a[i + 2]", [0, 1, 2], 1),
    ("out[i] = a[3*i] + a[3*i + 3]", [0, 3], 3),
])  # fmt: skip
@pytest.mark.parametrize("n", [1, 2, 21])
def test_cells_and_filled_cells(code, offsets, stride, n):
    cells = {stride * i + offset for i in range(n) for offset in offsets}
    filled = {cell + k for cell in cells for k in range(stride)}
    counts = counts_of(code)
    assert len(cells) == counts.footprint("a")(n=n)
    assert Fraction(len(cells), len(filled)) == counts.utilization("a")(n=n)


@pytest.mark.parametrize(("code", "loaded", "stored", "stride"), [
    ("a[2*i + 1] = a[2*i]", [0], [1], 2), ("a[2*i] = 2*a[2*i]", [0], [0], 2), ("a[3*i] = a[3*i + 1]", [1], [0], 3),
    ("a[4*i + 3] = a[4*i] + a[4*i + 1]", [0, 1], [3], 4), ("a[8*i] = a[8*i + 4]", [4], [0], 8),
])  # fmt: skip
@pytest.mark.parametrize("n", [1, 2, 21])
def test_loads_and_stores_together(code, loaded, stored, stride, n):
    """Algorithm 2: F_v is the union over all accesses to v, whichever their direction."""
    counts, before = counts_of(f"{code} + out[i]"), counts_of(f"{code} + out[i]").hash
    for direction, offsets in (("load", loaded), ("store", stored), (None, loaded + stored)):
        cells = {stride * i + offset for i in range(n) for offset in offsets}
        filled = {cell + k for cell in cells for k in range(stride)}
        assert len(cells) == counts.footprint("a", direction)(n=n)
        assert Fraction(len(cells), len(filled)) == counts.utilization("a", direction)(n=n)
    assert before == counts.hash
    again = KernelCounts.from_json(json.loads(json.dumps(counts.to_json())))  # as a store keeps it
    assert counts.utilization("a", None)(n=n) == again.utilization("a", None)(n=n)


def test_of_one_direction_together_is_the_same():
    counts = counts_of("out[i] = a[2*i]")
    assert counts.footprint("a") is counts.footprint("a", None)
    assert Fraction(1, 2) == counts.utilization("a", None)(n=32)


@pytest.mark.parametrize("n", [1, 3, 4, 21])
def test_one_cell_for_each_instance_is_counted_as_instances(n):
    cells = {i // 4 * 8 + i % 4 for i in range(n)}
    footprint = counts_of("out[i] = a[(i // 4)*8 + i % 4]").footprint("a")
    assert (len(cells), "n") == (footprint(n=n), str(footprint))


@pytest.mark.parametrize("n", [1, 3, 4, 21])
def test_cells_with_floors_that_several_instances_touch(n):
    cells = {i // 4 * 8 + i % 2 for i in range(n)}
    assert len(cells) == counts_of("out[i] = a[(i // 4)*8 + i % 2]").footprint("a")(n=n)
