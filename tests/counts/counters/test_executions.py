"""Sets counted once, at each granularity, of a small kernel that is easy to count by hand."""

from itertools import product

import islpy as isl
import loopy as lp
import numpy as np
import pytest

from perfmodel.counts import KernelCounts, count
from perfmodel.counts.counters import executions
from perfmodel.counts.points import set_counter
from perfmodel.counts.points.cardinality import Cardinality
from perfmodel.counts.points.factors import factored
from tests import oracle
from tests.corpus.kernel import make
from tests.counts.counters.boxes import domain, lanes, launch, points_at
from tests.counts.points.forms import form, points_of


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
    unit = make("{ [g, i]: 0 <= g < n and 0 <= i < 16 }", code, "a, b: n, 16", assumes="n >= 1", seq_dependencies=True)
    return count(lp.tag_inames(unit, {"g": "g.0", "i": "l.0"}), subgroup_size=16, cache=False)


@pytest.mark.parametrize(("code", "is_active"), [
    ("a[g, i] = b[g, i]", lambda g, i: True),
    ("if i < 5\n a[g, i] = b[g, i]\n end", lambda g, i: i < 5),
    ("if i < 5\n a[g, i] = 2\n end\n if i > 2 and g > 1\n b[g, i] = 3\n end", lambda g, i: i < 5 or g > 1),
    ("if i < 5\n a[g, i] = 2\n end\n if i < 3\n b[g, i] = 3\n end", lambda g, i: i < 5),
    ("a[g, i] = 2*b[g, i] if b[g, i] > 1 else 3", lambda g, i: True),  # each work-item takes some arm
    ("if i < 5\n a[g, i] = 2*b[g, i] if b[g, i] > 1 else 3\n end", lambda g, i: i < 5),
])  # fmt: skip
@pytest.mark.parametrize("n", [1, 2, 7])
def test_a_work_item_counts_once(code, is_active, n):
    counts = counts_of(code)
    active = executions.active_work_items(executions.Cardinalities(counts.program, 16))
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


@pytest.mark.parametrize("code", [
    "v[j] = 2 {id=b}", "if j < w\n v[j] = 2 {id=b}\n end", "if w > 1\n v[j] = 2 {id=b}\n end",
    "if j < w\n if j + w < n\n v[j] = 2 {id=b}\n end\n end",
    "if j < w\n v[j] = 2 {id=b}\n end\n if j > w + 1\n u[j] = 3\n end",
    "if j < w\n v[j] = 2 {id=b}\n end\n if j > w + 1\n u[j] = v[j] {dep=b}\n end",
    "if j < w\n v[j] = 2 {id=b}\n end\n u[j] = 3", "<> q = 2.0\n if j < w\n v[j] = q {id=b}\n end",
    "if j > w\n <> q = 2.0/3\n end\n if j < w\n v[j] = 2 {id=b}\n end",
])  # fmt: skip
@pytest.mark.parametrize("loops", [("w",), ("w", "x")])
def test_guards_depend_on_loops_of_the_host(code, loops):
    unit = in_host_loops(code, loops)
    counts = count(unit, subgroup_size=4, cache=False)
    executed = oracle.execute(unit.copy(target=lp.PyOpenCLTarget()), {"n": 5, "m": 4}, 4)
    idle = counts.idle_lanes()
    assert idle.exact
    assert executed.padded_lanes + executed.idle_work_items == idle(n=5, m=4)


ROWS = domain("[n] -> { [g, i, a, b] : 0 <= g < n and 0 <= i < 2 and 0 <= a < 10 and 0 <= b < 4 and 4g + b < n }",
              "g.0", "", "l.0", "l.1")  # fmt: skip


def test_boxes_of_sub_groups_that_end_inside_a_row():
    # 40 lanes in rows of 10: lanes 0 to 31 are three rows and ids 0 and 1 of the last one
    first, second = executions.boxes_of_sub_groups(launch(10, 4), 32)
    assert [((0, 9), (0, 0)), ((0, 9), (1, 2)), ((0, 1), (3, 3))] == first
    assert [((2, 9), (3, 3))] == second


@pytest.mark.parametrize("shape", [(7,), (10, 4), (3, 5, 2), (4, 1, 3)])
@pytest.mark.parametrize("size", [1, 4, 8, 64])
def test_boxes_hold_each_lane_once(shape, size):
    ids = lanes(shape)
    found = [
        [lane for box in boxes for lane in product(*(range(low, high + 1) for low, high in box))]
        for boxes in executions.boxes_of_sub_groups(launch(*shape), size)
    ]
    assert [set(ids[k:k + size]) for k in range(0, len(ids), size)] == [set(one) for one in found]
    assert len(ids) == sum(len(one) for one in found)


def test_sub_groups_take_the_place_of_lanes():
    # at n = 6 the second group has rows 0 and 1, which are lanes 0 to 19: all in the first sub-group
    expected = {(g, i, s) for g, i, s in product(range(2), range(2), range(2)) if not (g == 1 and s == 1)}
    instances = executions.in_sub_groups(ROWS, launch(10, 4), 32)
    assert expected == {(*point, s) for s, points in enumerate(instances) for point in points_at(points, n=6)}


def test_missing_axes_are_added():
    whole = executions.completed(domain("{ [i] : 0 <= i < 2 }", ""), launch(3))
    assert ("", "g.0", "l.0") == whole.axes
    assert ("i", "g_axis_0", "l_axis_0") == whole.names
    assert set(product(range(2), range(5), range(3))) == points_at(whole.points, n=5)
    assert ("", "l.0") == executions.completed(domain("{ [i] : 0 <= i < 2 }", ""), launch(3), groups=False).axes


GUARDED = domain("[n] -> { [g, a, i] : g >= 0 and 0 <= a < 8 and 8g + a < n and 0 <= i < 3 }", "g.0", "l.0", "")


def test_sub_groups_of_a_guarded_group():
    # some of the lanes 0 ... 3 has 8*g + lane < n where 8*g < n; some of 4 ... 7 where 8*g + 4 < n
    (first,), (second,) = executions.factors_of_lanes(factored(GUARDED.points), GUARDED, launch(8), 4)
    for factors, lane in ((first, 0), (second, 4)):
        inames, groups = factors
        assert {form(_v2=1), form(2, _v2=-1)} == {*inames.inequalities}
        for n in (1, 4, 5, 13):
            assert {(g,) for g in range(4) if 8 * g + lane < n} == points_of(groups, n=n)


@pytest.mark.parametrize("n", [1, 5, 8, 11])
def test_factors_of_sub_groups_that_end_inside_a_row(n):
    """Rows of 3 lanes, 2 of them in a group: sub-groups of 4 lanes are a row and a lane, and two lanes."""
    rows = domain("[n] -> { [g, a, b] : g >= 0 and 0 <= a < 3 and 0 <= b < 2 and 2g + b < n }", "g.0", "l.0", "l.1")
    ids = lanes((3, 2))
    for number, (factors,) in enumerate(executions.factors_of_lanes(factored(rows.points), rows, launch(3, 2), 4)):
        expected = {(g,) for g in range(n) if any(2 * g + b < n for _, b in ids[4 * number:4 * number + 4])}
        groups = next(factor for factor in factors if factor.variables == ("_v0",))
        assert expected == points_of(groups, n=n)


def test_boxes_of_which_none_holds_the_others():
    # rows of 3 lanes: lane (2, 0) reaches g <= 4 and i = 0, lane (0, 1) reaches g = 0 and i <= 3
    corners = domain(
        "{ [g, i, a, b] : 0 <= g <= 2a and 0 <= i <= 3b and 0 <= a < 3 and 0 <= b < 2 }", "g.0", "", "l.0", "l.1"
    )
    found = list(executions.factors_of_lanes(factored(corners.points), corners, launch(3, 2), 2))
    assert 3 == len(found)
    assert [{(0, 0), (1, 0), (2, 0), (3, 0), (4, 0)}, {(0, 0), (0, 1), (0, 2), (0, 3)}] == [
        {(g, i) for (g,) in points_of(one) for (i,) in points_of(other)} for one, other in found[1]
    ]  # lanes (2, 0) and (0, 1)
