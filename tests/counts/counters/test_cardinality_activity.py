"""Work-items that execute anything, against guards in plain Python."""

from __future__ import annotations

import loopy as lp
import numpy as np
import pytest

from perfmodel.counts import KernelCounts, count
from perfmodel.counts.counters.cardinality import Cardinalities, active_work_items


def counts_of(code: str) -> KernelCounts:
    unit = lp.make_kernel(
        "{ [g, i]: 0 <= g < n and 0 <= i < 16 }", code, [lp.GlobalArg("a, b", np.float32, shape="n, 16"), ...],
        assumptions="n >= 1", lang_version=(2018, 2), seq_dependencies=True,
    )
    return count(lp.tag_inames(unit, {"g": "g.0", "i": "l.0"}), subgroup_size=16, cache=False)


@pytest.mark.parametrize(
    ("code", "is_active"),
    [
        ("a[g, i] = b[g, i]", lambda g, i: True),
        ("if i < 5\n a[g, i] = b[g, i]\n end", lambda g, i: i < 5),
        ("if i < 5\n a[g, i] = 2\n end\n if i > 2 and g > 1\n b[g, i] = 3\n end", lambda g, i: i < 5 or g > 1),
        ("if i < 5\n a[g, i] = 2\n end\n if i < 3\n b[g, i] = 3\n end", lambda g, i: i < 5),
    ],
)
@pytest.mark.parametrize("n", [1, 2, 7])
def test_a_work_item_counts_once(code, is_active, n):
    counts = counts_of(code)
    active = active_work_items(Cardinalities(counts.program, 16))
    expected = sum(is_active(g, i) for g in range(n) for i in range(16))
    assert active.exact
    assert expected == active(n=n)
    assert 16 * n - expected == counts.idle_lanes()(n=n)
