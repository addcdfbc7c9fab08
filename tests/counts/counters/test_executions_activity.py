"""Work-items that execute anything, against guards in plain Python."""

from __future__ import annotations

import loopy as lp
import numpy as np
import pytest

from perfmodel.counts import KernelCounts, count
from perfmodel.counts.counters.executions import Cardinalities, active_work_items
from tests import oracle


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
        ("a[g, i] = 2*b[g, i] if b[g, i] > 1 else 3", lambda g, i: True),  # each work-item takes some arm
        ("if i < 5\n a[g, i] = 2*b[g, i] if b[g, i] > 1 else 3\n end", lambda g, i: i < 5),
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


def in_host_loops(code: str, loops: tuple[str, ...]) -> lp.TranslationUnit:
    """Return a kernel with one work-item in a group, for each j; the host repeats the launch because of the barrier."""
    unit = lp.make_kernel(
        f"{{ [j, {', '.join(loops)}]: 0 <= j < n and 0 <= {' <= '.join(loops)} < m }}",
        f"for {', '.join(loops)}\nfor j\n{code}\nend\n... gbarrier {{dep_query=writes:*}}\nend",
        [lp.GlobalArg("u, v", np.float32, shape="n"), ...], assumptions="n >= 1 and m >= 1", lang_version=(2018, 2),
    )  # fmt: skip
    return lp.tag_inames(lp.prioritize_loops(unit, loops), {"j": "g.0"})


@pytest.mark.parametrize(
    "code",
    [
        "v[j] = 2 {id=b}",
        "if j < w\n v[j] = 2 {id=b}\n end",
        "if w > 1\n v[j] = 2 {id=b}\n end",
        "if j < w\n if j + w < n\n v[j] = 2 {id=b}\n end\n end",
        "if j < w\n v[j] = 2 {id=b}\n end\n if j > w + 1\n u[j] = 3\n end",
        "if j < w\n v[j] = 2 {id=b}\n end\n if j > w + 1\n u[j] = v[j] {dep=b}\n end",
        "if j < w\n v[j] = 2 {id=b}\n end\n u[j] = 3",
        "<> q = 2.0\n if j < w\n v[j] = q {id=b}\n end",
        "if j > w\n <> q = 2.0/3\n end\n if j < w\n v[j] = 2 {id=b}\n end",
    ],
)
@pytest.mark.parametrize("loops", [("w",), ("w", "x")])
def test_guards_depend_on_loops_of_the_host(code, loops):
    unit = in_host_loops(code, loops)
    counts = count(unit, subgroup_size=4, cache=False)
    executed = oracle.execute(unit.copy(target=lp.PyOpenCLTarget()), {"n": 5, "m": 4}, 4)
    idle = counts.idle_lanes()
    assert idle.exact
    assert executed.padded_lanes + executed.idle_work_items == idle(n=5, m=4)
