"""What a walk finds in loops and across launches, by hand."""

import loopy as lp

from tests.counts.flow.small_kernels import ADD, FLOAT, LOAD, MUL, RSQRT, STORE, at, flow_of, in_lanes, kernel


def test_recurrence_through_a_function() -> None:
    unit = kernel("{[i]: 0 <= i < n}", """
        <float32> s = 1 {id=first}
        for i
            s = rsqrt(s + a[i]) {id=next, dep=first}
        end
        out[0] = s {dep=next}
    """)
    flow = flow_of(unit)
    assert {LOAD: 1, ADD: 50, RSQRT: 50, STORE: 1} == at(flow.depth, n=50)
    (recurrence,) = flow.recurrences
    assert (((ADD, ()), 1), ((RSQRT, ()), 1)) == recurrence.terms


def test_a_scan_passes_through_memory() -> None:
    flow = flow_of(kernel("{[i]: 1 <= i < n}", "x[i] = x[i-1] + y[i]", assumptions="n >= 2"))
    assert {LOAD: 49, ADD: 49, STORE: 49} == at(flow.depth, n=50)
    (recurrence,) = flow.recurrences
    assert ("i", "x") == (recurrence.loop, recurrence.variable)


def test_updates_of_different_cells_are_independent() -> None:
    flow = flow_of(kernel("{[i, j]: 0 <= i, j < n}", "x[i, j] = 2*x[i, j] + y[i]"))
    assert {LOAD: 1, MUL: 1, ADD: 1, STORE: 1} == at(flow.depth, n=50)
    assert () == flow.recurrences


def test_unrolled_loops_issue_their_loads_together() -> None:
    unit = kernel("{[i, u]: 0 <= i < n and 0 <= u < 4}", "out[i] = sum(u, a[i, u])")
    assert 1 == flow_of(in_lanes(unit)).memory_parallelism(n=32)
    assert 4 == flow_of(in_lanes(lp.tag_inames(unit, "u:unr"))).memory_parallelism(n=32)


def test_launches_follow_one_another() -> None:
    unit = lp.make_kernel(
        "{[i, j]: 0 <= i, j < n}",
        """
        mid[i] = rsqrt(a[i]) {id=first}
        ... gbarrier {id=wait, dep=first}
        out[j] = mid[n - 1 - j] + 1 {dep=wait}
        """,
        [lp.GlobalArg("a, mid, out", FLOAT, shape="n"), ...], assumptions="n >= 1", lang_version=(2018, 2),
    )  # fmt: skip
    for iname in "ij":
        unit = lp.split_iname(unit, iname, 16, outer_tag="g.0", inner_tag="l.0")
    flow = flow_of(unit)
    assert {LOAD: 2, RSQRT: 1, ADD: 1, STORE: 2} == at(flow.depth, n=64) == at(flow.work, n=64)
