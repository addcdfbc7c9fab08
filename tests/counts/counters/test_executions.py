"""Sets counted once, at each granularity, of a small kernel that is easy to count by hand."""

from __future__ import annotations

import islpy as isl
import loopy as lp
import numpy as np
import pytest

from perfmodel.counts import count
from perfmodel.counts.points import set_counter
from perfmodel.counts.points.cardinality import Cardinality


def triangle() -> lp.TranslationUnit:
    """Group g, lane l of 32: row 32 g + l of a triangle, its diagonal left out."""
    kernel = lp.make_kernel(
        "{ [i, j]: 0 <= i < n and 0 <= j < i }", "b[i, j] = 2*a[i, j]",
        lang_version=(2018, 2), assumptions="n >= 1 and n mod 32 = 0",
    )
    kernel = lp.split_iname(lp.add_dtypes(kernel, {"a": np.float32}), "i", 32)
    return lp.tag_inames(kernel, {"i_outer": "g.0", "i_inner": "l.0"})


@pytest.mark.parametrize("n", [32, 64, 160])
def test_granularities(n):
    counts = count(triangle(), subgroup_size=8, cache=False)
    rows = {"workitem": n * (n - 1) // 2}
    # the loop of a sub-group or a group runs as long as that of its last lane
    rows["subgroup"] = sum(last for last in range(7, n, 8))
    rows["workgroup"] = sum(last for last in range(31, n, 32))
    for granularity, expected in rows.items():
        assert expected == counts.accesses(array="a", granularity=granularity)(n=n)


def test_equal_sets_are_counted_once(monkeypatch):
    seen = []
    real = set_counter.count_points

    def counting(points: isl.Set, operations: int) -> Cardinality:
        seen.append(str(points))
        return real(points, operations)

    monkeypatch.setattr(set_counter, "count_points", counting)
    count(triangle(), subgroup_size=8, cache=False)
    assert len(set(seen)) == len(seen)


@pytest.mark.parametrize("n", [1, 3, 4, 6, 21])
def test_sub_groups_that_end_inside_a_row(n):
    """Groups of 10 by 4 lanes: the first sub-group of 32 holds three rows and a part of the last."""
    kernel = lp.make_kernel(
        "{ [e, i]: 0 <= e < n and 0 <= i < 10 }", "b[e, i] = 2*a[e, i]",
        lang_version=(2018, 2), assumptions="n >= 1",
    )
    kernel = lp.split_iname(lp.add_dtypes(kernel, {"a": np.float32}), "e", 4)
    kernel = lp.tag_inames(kernel, {"e_outer": "g.0", "e_inner": "l.1", "i": "l.0"})
    counts = count(kernel, subgroup_size=32, cache=False)
    active = {
        (item // 40, item % 40 // 32) for item in range(40 * -(-n // 4))
        if 4 * (item // 40) + item % 40 // 10 < n
    }
    assert len(active) == counts.accesses(array="a", granularity="subgroup")(n=n)


def test_the_many_sub_groups_of_a_guarded_group_are_counted_together(monkeypatch):
    """As a sum of 48 quasi-polynomials it took ten seconds; n lanes make ceil(n/8) sub-groups."""
    kernel = lp.make_kernel("{ [i]: 0 <= i < n }", "b[i] = 2*a[i]", lang_version=(2018, 2), assumptions="n >= 1")
    kernel = lp.split_iname(lp.add_dtypes(kernel, {"a": np.float32}), "i", 384)
    kernel = lp.tag_inames(kernel, {"i_outer": "g.0", "i_inner": "l.0"})
    counted = []
    real = set_counter.count_points
    monkeypatch.setattr(set_counter, "count_points", lambda points, work: counted.append(points) or real(points, work))
    found = count(kernel, subgroup_size=8, cache=False).accesses(array="a", granularity="subgroup")
    assert counted
    for n in (1, 8, 9, 376, 377, 384, 385, 1000, 3 * 384, 4097):
        assert -(-n // 8) == found(n=n)
