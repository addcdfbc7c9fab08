"""What a walk finds in loops and across launches, by hand."""

from __future__ import annotations

from typing import Any

import loopy as lp
import numpy as np
import pytest

from perfmodel.counts.flow.execution import Snapshot, State
from perfmodel.counts.flow.paths import Path
from tests.counts.flow.small_kernels import ADD, FLOAT, LOAD, MUL, RSQRT, STORE, at, counted, flow_of, in_lanes, kernel


def test_dot_product_is_a_chain_of_additions() -> None:
    counts = counted(kernel("{[i]: 0 <= i < n}", "out = sum(i, a[i]*b[i])"))
    assert {"mul": 1, "add": 1000} == {row.kind: row.count(n=1000) for row in counts.depth()}
    assert "n" == str(counts.flow.depth.operations(kind="add"))
    (recurrence,) = counts.flow.recurrences
    assert ("i", (((ADD, ()), 1),), 1) == (recurrence.loop, recurrence.terms, recurrence.chains)


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


def test_a_long_loop_of_constant_trips_is_prolonged() -> None:
    flow = flow_of(kernel("{[i, j]: 0 <= i < n and 0 <= j < 1000}", "out[i] = sum(j, a[i, j])"))
    assert {LOAD: 1, ADD: 1000, STORE: 1} == at(flow.depth, n=7)


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
    assert {LOAD: 2, RSQRT: 1, ADD: 1, STORE: 2} == at(flow.depth, n=64)


def test_a_loop_looks_at_what_it_stores_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """A loop copies only the cells that it stores, not those stored before it."""

    def cells_looked_at(others: int) -> int:
        before = "\n".join(f"p{k}[0] = {k} {{id=p{k}}}" for k in range(others))
        unit = lp.make_kernel(
            "{[i, j, k]: 0 <= i, j, k < n}",
            f"{before}\nout[i, j] = reduce(sum, k, a[i, k]*b[k, j]) {{dep=p*}}",
            [lp.GlobalArg("a, b, out", np.float32, shape=("n", "n")),
             *(lp.GlobalArg(f"p{k}", np.float32, shape=(1,)) for k in range(others)), ...],
            assumptions="n >= 1", lang_version=(2018, 2),
        )
        looked: list[int] = []
        taken = State.snapshot

        def snapshot(state: State, *arguments: Any) -> Snapshot:
            found = taken(state, *arguments)
            looked.append(sum(map(len, found.values())))
            return found

        with monkeypatch.context() as patch:
            patch.setattr(State, "snapshot", snapshot)
            assert {ADD: 9, MUL: 1, LOAD: 1, STORE: 1} == at(flow_of(unit).depth, n=9)
        return sum(looked)

    assert 0 < cells_looked_at(1) == cells_looked_at(40)


def test_a_walk_makes_the_paths_of_one_iteration_only_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Iterations that do the same make no paths of their own, however many of them are followed."""

    def paths_made(rows: int) -> int:
        unit = kernel(f"{{[i, j]: 0 <= i < {rows} and 0 <= j < n}}", "out[i] = sum(j, a[i, j]*b[j])")
        made: list[Path] = []
        plus = Path.plus

        def noted(path: Path, *arguments: Any) -> Path:
            made.append(plus(path, *arguments))
            return made[-1]

        with monkeypatch.context() as patch:
            patch.setattr(Path, "plus", noted)
            assert {ADD: 9, MUL: 1, LOAD: 1, STORE: 1} == at(flow_of(unit).depth, n=9)
        return len(made)

    assert 0 < paths_made(20) == paths_made(80)
