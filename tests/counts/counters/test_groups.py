"""What each work-group executes, against the loops of the kernel in plain Python."""

import loopy as lp
import numpy as np
import pytest

from perfmodel.counts import KernelCounts, count
from perfmodel.counts.counters.executions import GroupWork
from tests.corpus.kernel import make


def triangle(guarded: bool) -> KernelCounts:
    """Rows of a triangle in groups of 8 by 4 work-items; l.1 and g.1 repeat them."""
    unit = make("{ [i, k, j]: 0 <= i < n and 0 <= k < m and 0 <= j <= i }", "out[k, i] = sum(j, a[j])",
                [lp.GlobalArg("a", np.float32, shape="n"), lp.GlobalArg("out", np.float32, shape="m, n"), ...],
                assumes="n >= 1 and m >= 1 and m mod 4 = 0" + ("" if guarded else " and n mod 8 = 0"))  # fmt: skip
    unit = lp.split_iname(unit, "i", 8, outer_tag="g.0", inner_tag="l.0")
    return count(lp.split_iname(unit, "k", 4, outer_tag="g.1", inner_tag="l.1"), cache=False)


def work_of(counts: KernelCounts) -> GroupWork:
    (work,) = counts.group_works
    assert work is not None
    return work


@pytest.mark.parametrize(("guarded", "n"), [(False, 24), (True, 24), (True, 21), (True, 3)])
def test_groups_of_a_triangle(guarded: bool, n: int) -> None:
    m, work = 8, work_of(triangle(guarded))
    # an addition and a load for each j, a store for each cell
    rows = [sum(2 * (i + 1) + 1 for i in range(first, min(first + 8, n))) for first in range(0, n, 8)]
    expected = [4 * row for _ in range(m // 4) for row in rows]  # g.0 is fastest
    assert len(expected) == work.groups({"n": n, "m": m})
    assert expected == work.at({"n": n, "m": m}).tolist()


def test_all_groups_together_execute_what_is_counted() -> None:
    counts, sizes = triangle(guarded=True), {"n": 45, "m": 12}
    accesses = counts.accesses(space="global")(**sizes)
    assert counts.operations()(**sizes) + accesses == work_of(counts).at(sizes).sum()


def test_equal_groups_need_no_function() -> None:
    unit = make("{ [i, j]: 0 <= i, j < n }", "out[i] = sum(j, a[i, j])", assumes="n mod 8 = 0 and n >= 8")
    unit = lp.split_iname(lp.add_dtypes(unit, {"a": np.float32}), "i", 8, outer_tag="g.0", inner_tag="l.0")
    assert (None,) == count(unit, cache=False).group_works
