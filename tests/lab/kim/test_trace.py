"""Traces against executed code, and in their order."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from perfmodel.counts import count
from scripts.lab.kim.trace import Trace, trace
from tests import oracle
from tests.corpus import kernels
from tests.lab.kim.traced_kernels import counted

FLOAT = np.float32
LINE = 64
pytestmark = [
    pytest.mark.filterwarnings("ignore::loopy.diagnostic.LoopyWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


TRACED = (  # of the corpus: guards, triangles, tiles, ties, copies of statements, vectors, offsets, launches
    "scan_in_group", "guard_in_ilp", "matmul_tiled", "stencil_box_halo_remainder", "skewed_triangle",
    "array_of_structures", "array_offset", "loop_around_launches", "gather", "complex128",
    "if_expression_boundary", "barrier_in_triangle",
    "flattened_by_hand", "predicate_modulo", "fortran_order_across", "different_guards", "steps_by_parity",
)


def executed_requests(executed: oracle.Executed, launches: list[int]) -> Counter[Any]:
    found: Counter[Any] = Counter()
    for instance in executed.instances:
        occurrence = instance.occurrence
        if occurrence.space not in ("global", "constant") or instance.launch not in launches:
            continue
        lanes: dict[int, set[int]] = {}
        for lane, address in instance.touched:
            lanes.setdefault(lane // 32, set()).add(address * occurrence.type.bits // 8 // LINE)
        for number, lines in lanes.items():
            for line in lines:
                where = (launches.index(instance.launch), instance.group, number)
                found[(*where, occurrence.array, occurrence.direction, line)] += 1
    return found


def traced_requests(traces: tuple[Trace, ...]) -> Counter[Any]:
    found: Counter[Any] = Counter()
    for launch, one in enumerate(traces):
        for group, number, array, store, line in zip(
            one.group, one.subgroup, one.array, one.store, one.line, strict=True
        ):
            direction = "store" if store else "load"
            found[launch, one.groups[group], number, one.arrays[array], direction, line - one.first[array]] += 1
    return found


@pytest.mark.parametrize("name", TRACED)
def test_trace_is_what_is_executed(name: str) -> None:
    (kernel,) = (kernel for kernel in kernels() if kernel.name == name)
    sizes = kernel.cases[0]
    counts = count(kernel.build(), 32)
    traces = trace(counts, sizes, 10**6, LINE)
    executed = oracle.execute(kernel.build(), sizes, 32, kernel.contents(sizes))
    names = [grid.kernel for grid in executed.launched]
    launches = [names.index(one.launch) for one in traces]
    expected, actual = executed_requests(executed, launches), traced_requests(traces)
    if all(one.exact for one in traces):
        assert expected == actual
    else:  # cells drawn, or tests on data taken to hold: as many requests at least
        assert {key[:5] for key in expected} <= {key[:5] for key in actual}


def test_requests_come_in_the_order_of_the_program() -> None:
    counts = counted(
        "{[i,k]: 0 <= i < n and 0 <= k < 2}", """
        for i
            <> total = start[i] {id=begin}
            for k
                total = total + a[k]*b[i] {id=add,dep=begin}
            end
            out[i] = total {dep=add}
        end
        """, ("i", 16, "g.0", "l.0"), start=FLOAT, a=FLOAT, b=FLOAT,
    )
    (one,) = trace(counts, {"n": 16})
    assert ["start", "a", "b", "a", "b", "out"] == [one.arrays[k] for k in one.array]
    assert [0, 0, 0, 0, 0, 1] == one.store.tolist()
    assert not one.phase.any()


def test_barriers_part_the_phases() -> None:
    (kernel,) = (kernel for kernel in kernels() if kernel.name == "matmul_tiled")
    (one,) = trace(count(kernel.build(), 32), {"n": 16}, 1)
    loads = {name: one.phase[one.array == one.arrays.index(name)] for name in one.arrays}
    (store,) = {int(phase) for phase in one.phase[one.store == 1]}
    assert max(loads["a"].max(), loads["b"].max()) < store
    assert len(set(loads["a"].tolist())) > 1  # a tile after another
