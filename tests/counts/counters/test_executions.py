"""Sets counted once, at each granularity, of a small kernel that is easy to count by hand."""

import islpy as isl
import loopy as lp
import numpy as np
import pytest

from perfmodel.counts import KernelCounts, count
from perfmodel.counts.counters.executions import Cardinalities, active_work_items
from perfmodel.counts.points import set_counter
from perfmodel.counts.points.cardinality import Cardinality
from tests import oracle
from tests.corpus.kernel import make


def triangle() -> lp.TranslationUnit:
    """Group g, lane l of 32: row 32 g + l of a triangle, its diagonal left out."""
    kernel = make("{ [i, j]: 0 <= i < n and 0 <= j < i }", "b[i, j] = 2*a[i, j]", assumes="n >= 1 and n mod 32 = 0")
    kernel = lp.split_iname(lp.add_dtypes(kernel, {"a": np.float32}), "i", 32)
    return lp.tag_inames(kernel, {"i_outer": "g.0", "i_inner": "l.0"})


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
    kernel = make("{ [e, i]: 0 <= e < n and 0 <= i < 10 }", "b[e, i] = 2*a[e, i]", assumes="n >= 1")
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
    kernel = make("{ [i]: 0 <= i < n }", "b[i] = 2*a[i]", assumes="n >= 1")
    kernel = lp.split_iname(lp.add_dtypes(kernel, {"a": np.float32}), "i", 384)
    kernel = lp.tag_inames(kernel, {"i_outer": "g.0", "i_inner": "l.0"})
    counted = []
    real = set_counter.count_points
    monkeypatch.setattr(set_counter, "count_points", lambda points, work: counted.append(points) or real(points, work))
    found = count(kernel, subgroup_size=8, cache=False).accesses(array="a", granularity="subgroup")
    assert counted
    for n in (1, 8, 9, 376, 377, 384, 385, 1000, 3 * 384, 4097):
        assert -(-n // 8) == found(n=n)


def counts_of(code: str) -> KernelCounts:
    unit = make("{ [g, i]: 0 <= g < n and 0 <= i < 16 }", code, [lp.GlobalArg("a, b", np.float32, shape="n, 16"), ...],
                assumes="n >= 1", seq_dependencies=True)  # fmt: skip
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
    unit = make(f"{{ [j, {', '.join(loops)}]: 0 <= j < n and 0 <= {' <= '.join(loops)} < m }}",
                f"for {', '.join(loops)}\nfor j\n{code}\nend\n... gbarrier {{dep_query=writes:*}}\nend",
                [lp.GlobalArg("u, v", np.float32, shape="n"), ...], assumes="n >= 1 and m >= 1")  # fmt: skip
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
