"""The dataflow of kernels: chains, parallelism and graph, against what follows by hand from the code."""

import math
from fractions import Fraction

import loopy as lp
import numpy as np
import pytest

from measurement_kernels import arithmetic, matmul_tiled
from perfmodel.counts.program.program import SHARED
from tests.corpus import CorpusKernel, kernels
from tests.corpus.kernel import make
from tests.counts.flow.small_kernels import (
    ADD,
    BARRIER,
    FLOAT,
    LOAD,
    LOCAL_LOAD,
    LOCAL_STORE,
    MUL,
    RSQRT,
    STORE,
    at,
    counted,
    flow_of,
    in_lanes,
    kernel,
)


def test_saxpy() -> None:
    flow = flow_of(in_lanes(kernel("{[i]: 0 <= i < n}", "y[i] = 3*x[i] + y[i]")))
    assert {LOAD: 1, MUL: 1, ADD: 1, STORE: 1} == at(flow.depth, n=100)
    assert {LOAD: 2, MUL: 1, ADD: 1, STORE: 1} == at(flow.work, n=100)
    assert Fraction(5, 4) == flow.instruction_parallelism(n=100)
    assert 2 == flow.memory_parallelism(n=100)


def test_an_indirect_load_waits_for_its_index() -> None:
    flow = flow_of(in_lanes(kernel(
        "{[i]: 0 <= i < n}", "out[i] = a[where[i]]", lp.GlobalArg("where", np.int32, shape="n"),
        lp.GlobalArg("a", FLOAT, shape="n"),
    )))
    assert {LOAD: 2, STORE: 1} == at(flow.depth, n=64)
    assert 1 == flow.memory_parallelism(n=64)  # two loads in two rounds


def test_tiled_matmul() -> None:
    flow = flow_of(matmul_tiled.KERNEL.build())
    sizes = {"n": 64, "m": 256, "l": 32}
    tiles = 256 // 16
    # into the first tile: barrier, load, store, barrier, load; then one addition after the other
    first = {BARRIER: 2, LOAD: 1, LOCAL_STORE: 1, LOCAL_LOAD: 1, MUL: 1}
    assert {**first, ADD: 256, STORE: 1} == at(flow.depth, **sizes)
    assert 2 * 256 == flow.work.accesses("local", "load")(**sizes)
    # between barriers: load and store; then local load, product and sixteen additions
    serial = {LOAD: tiles, LOCAL_STORE: tiles, LOCAL_LOAD: tiles, MUL: tiles, ADD: 256, STORE: 1}
    assert {**serial, BARRIER: 2 * tiles} == at(flow.between_barriers, **sizes)
    total = 2 * tiles + 2 * tiles + 2 * 256 + 2 * 256 + 1
    assert Fraction(total, sum(serial.values())) == flow.instruction_parallelism(**sizes)
    assert 2 == flow.memory_parallelism(**sizes)


@pytest.mark.parametrize(("form", "chains"), [("throughput", 8), ("latency", 1)])
@pytest.mark.parametrize(("kind", "operation"), [("add", ADD), ("rsqrt", RSQRT)])
def test_accumulators_side_by_side(kind: str, form: str, operation: tuple[str, str], chains: int) -> None:
    flow = flow_of(arithmetic.KERNEL.build(kind=kind, form=form))
    sizes = {"n": 32, "k": 512}
    # before: 1 + scale*lane, where three operations on integers make the lane; after: the accumulators added up
    expected = {MUL: 1, ADD: 1 + chains, STORE: 1}
    expected[operation] = expected.get(operation, 0) + 16 // chains * 512
    assert expected == at(flow.depth, **sizes)
    assert 16 * 512 == flow.work.operations()(**sizes) - 6 * chains
    assert math.isclose(chains, flow.instruction_parallelism(**sizes), rel_tol=0.02)
    steps = [r for r in flow.recurrences if r.loop == "step"]
    assert [("acc", (((operation, ()), 16 // chains),), chains)] == [(r.variable, r.terms, r.chains) for r in steps]


@pytest.mark.parametrize("assumptions", ["n >= 1", "n mod 32 = 0 and n >= 32", "1 <= n and n <= 40"])
def test_copies_that_a_size_may_leave_out_are_chains_too(assumptions: str) -> None:
    unit = kernel("{[i, k]: 0 <= i < n and 0 <= k < n}", "out[i] = sum(k, a[k])", assumptions=assumptions)
    unit = lp.split_iname(unit, "i", 32, outer_tag="g.0")
    unit = lp.split_iname(unit, "i_inner", 8, outer_tag="ilp", inner_tag="l.0")
    silenced = unit.default_entrypoint.copy(silenced_warnings=frozenset({"v1_scheduler_fallback"}))
    (carried,) = flow_of(unit.with_kernel(silenced)).recurrences
    assert ("k", 4) == (carried.loop, carried.chains)


def test_a_guard_is_waited_for() -> None:
    unit = in_lanes(kernel("{[i]: 0 <= i < n}", """
        <> positive = a[i]*a[i] > 1 {id=test}
        if positive
            out[i] = b[i] {dep=test}
        end
    """))
    assert {LOAD: 1, MUL: 1, STORE: 1} == at(flow_of(unit).depth, n=32)


@pytest.mark.filterwarnings("ignore::loopy.diagnostic.LoopyWarning", "ignore::DeprecationWarning")
@pytest.mark.parametrize("subject", [k for k in kernels() if k.realistic], ids=lambda k: k.name)
def test_bounds_on_every_kernel(subject: CorpusKernel) -> None:
    counts = counted(subject.build())
    flow = counts.flow
    sizes = max(subject.cases, key=lambda case: math.prod(case.values()))
    work, depth, parts = (at(chain, **sizes) for chain in (flow.work, flow.depth, flow.between_barriers))
    assert all(parts[operation] <= work[operation] for operation in parts)
    assert sum(depth[a] for a in depth if a[0] not in SHARED) <= sum(work[a] for a in work if a[0] not in SHARED)
    # the work-item with the longest loops does no less than the mean one
    assert counts.operations()(**sizes) <= flow.work.operations()(**sizes) * counts.work_items()(**sizes)
    assert flow.instruction_parallelism(**sizes) >= 1
    assert flow.memory_parallelism(**sizes) >= 1


def test_a_private_temporary_passes_its_value_on() -> None:
    unit = in_lanes(kernel("{[i]: 0 <= i < n}", """
        <> t = a[i]*a[i] {id=square}
        <> s = b[i] + 1 {id=other}
        out[i] = t + s {id=last, dep=square:other}
    """))
    flow = flow_of(unit)
    assert {LOAD: 1, MUL: 1, ADD: 1, STORE: 1} == at(flow.depth, n=32)
    assert {("square", "last", "t"), ("other", "last", "s")} == {
        (arc.source, arc.target, arc.variable) for arc in flow.dependences
    }
    assert 3 == flow.memory_parallelism(n=32)  # a[i] is loaded as often as it is written


def barrier_between() -> lp.TranslationUnit:
    unit = make("{[i, ii, jj]: 0 <= i < n and 0 <= ii, jj < 16}", """
        for i
            tile[ii] = rsqrt(a[16*i + ii]) {id=fill}
            out[16*i + jj] = tile[15 - jj] + 1 {id=use, dep=fill}
        end
        """, "a, out: 16*n; local tile: 16", dtype=FLOAT, assumes="n >= 1", name="reversal")  # fmt: skip
    return lp.tag_inames(unit, "i:g.0, ii:l.0, jj:l.0")


def test_another_work_items_value_arrives_through_the_barrier() -> None:
    flow = flow_of(barrier_between())
    whole = {LOAD: 1, RSQRT: 1, LOCAL_STORE: 1, BARRIER: 1, LOCAL_LOAD: 1, ADD: 1, STORE: 1}
    assert whole == at(flow.depth, n=4)
    (arc,) = flow.dependences
    assert ("fill", "use", "tile", "") == (arc.source, arc.target, arc.variable, arc.carried)
    assert (LOCAL_LOAD, ADD) == arc.path


def test_dependences_of_the_tiled_matmul() -> None:
    flow = flow_of(matmul_tiled.KERNEL.build())
    assert {"k_inner", "k_outer"} == {arc.carried for arc in flow.dependences if arc.source == arc.target}


def test_short_nests_are_multiplied_out_and_long_ones_keep_their_loops() -> None:
    # a walk follows 4*3 runs one by one, but not 4*n: all of both are work
    flow = flow_of(kernel("{[i, j, k]: 0 <= i < 4 and 0 <= j < 3 and 0 <= k < n}", """
        for i
            <float32> s = a[i] {id=first}
            for j
                x[i, j] = a[i] + z[j]
            end
            for k
                s = s + y[k] {id=next, dep=first}
            end
            out[i] = s {dep=next}
        end
    """))
    runs = 4 * 3 + 4 * 1000
    assert {LOAD: 4 + 2 * 4 * 3 + 4 * 1000, ADD: runs, STORE: 4 * 3 + 4} == at(flow.work, n=1000)


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


def test_the_recurrence_through_a_table_waits_for_its_load() -> None:
    """Two operations lead past the table, one of them and a load through it; the depth counts operations."""
    unit = kernel("{[i]: 0 <= i < n}", """
        <int32> s = 1 {id=first}
        for i
            s = t[s] ^ (s >> 8) {id=next, dep=first}
        end
        out[0] = s {dep=next}
    """, lp.GlobalArg("t, out", np.int32, shape="n"))
    flow = flow_of(unit)
    bitwise = ("int32", "bitwise")
    assert {bitwise: 50, ("int32", "shift"): 50, STORE: 1} == at(flow.depth, n=50)
    (recurrence,) = flow.recurrences
    assert {(LOAD, ()): 1, (bitwise, ()): 1} == dict(recurrence.terms)


def test_one_iteration_walks_down_a_tree() -> None:
    """Each of three steps loads from where the one before leads; the sum of the walks waits for one addition."""
    unit = kernel("{[i, d]: 0 <= i < n and 0 <= d < 3}", """
        <float32> s = 0 {id=zero}
        for i
            <int32> at = 0 {id=first}
            for d
                at = 2*at + t[at] {id=next, dep=first}
            end
            s = s + x[i, at] {id=add, dep=next:zero}
        end
        out[0] = s {dep=add}
    """, lp.GlobalArg("t", np.int32, shape="n"), lp.GlobalArg("x", np.float32, shape="n, n"))
    assert {LOAD: 4, ("int32", "add"): 3, ADD: 1} == flow_of(lp.tag_inames(unit, {"d": "unr"})).within("i")


def test_updates_of_different_cells_are_independent() -> None:
    flow = flow_of(kernel("{[i, j]: 0 <= i, j < n}", "x[i, j] = 2*x[i, j] + y[i]"))
    assert {LOAD: 1, MUL: 1, ADD: 1, STORE: 1} == at(flow.depth, n=50)
    assert () == flow.recurrences


def test_unrolled_loops_issue_their_loads_together() -> None:
    unit = kernel("{[i, u]: 0 <= i < n and 0 <= u < 4}", "out[i] = sum(u, a[i, u])")
    assert 1 == flow_of(in_lanes(unit)).memory_parallelism(n=32)
    assert 4 == flow_of(in_lanes(lp.tag_inames(unit, "u:unr"))).memory_parallelism(n=32)


def test_launches_follow_one_another() -> None:
    unit = make("{[i, j]: 0 <= i, j < n}", """
        mid[i] = rsqrt(a[i]) {id=first}
        ... gbarrier {id=wait, dep=first}
        out[j] = mid[n - 1 - j] + 1 {dep=wait}
        """, "a, mid, out: n", dtype=FLOAT, assumes="n >= 1")  # fmt: skip
    for iname in "ij":
        unit = lp.split_iname(unit, iname, 16, outer_tag="g.0", inner_tag="l.0")
    flow = flow_of(unit)
    assert {LOAD: 2, RSQRT: 1, ADD: 1, STORE: 2} == at(flow.depth, n=64) == at(flow.work, n=64)
