"""The dataflow of kernels: chains, parallelism and graph, against what follows by hand from the code."""

from __future__ import annotations

import json
import math
import pickle
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import loopy as lp
import numpy as np
import pytest

from measurement_kernels import arithmetic, matmul_naive, matmul_tiled
from perfmodel.counts import KernelCounts, count
from perfmodel.counts.flow.flow import Chain, Flow
from perfmodel.counts.program.steps import SHARED
from perfmodel.errors import ActCostError, FlowUnknownError
from tests.corpus import CorpusKernel, kernels

FLOAT = np.float32
ADD, MUL, RSQRT = ("float32", "add"), ("float32", "mul"), ("float32", "rsqrt")
LOAD, STORE, BARRIER = ("global", "load"), ("global", "store"), ("local", "barrier")
LOCAL_LOAD, LOCAL_STORE = ("local", "load"), ("local", "store")


def kernel(domains: Any, code: str, *arguments: Any, assumptions: str = "n >= 1") -> lp.TranslationUnit:
    unit = lp.make_kernel(
        domains, code, [*arguments, ...], assumptions=assumptions, lang_version=(2018, 2), name="made_up"
    )
    return lp.add_dtypes(unit, {
        argument.name: FLOAT for argument in unit.default_entrypoint.args
        if argument.dtype is None and argument.name != "n"
    })


def in_lanes(unit: lp.TranslationUnit, iname: str = "i") -> lp.TranslationUnit:
    return lp.split_iname(unit, iname, 16, outer_tag="g.0", inner_tag="l.0")


def counted(unit: lp.TranslationUnit, **options: Any) -> KernelCounts:
    return count(unit, cache=False, **options)


def flow_of(unit: lp.TranslationUnit, **options: Any) -> Flow:
    flow = counted(unit, **options).flow
    assert flow is not None
    return flow


def at(chain: Chain, **sizes: int) -> Mapping[tuple[str, str], Any]:
    return {(row.where, row.kind): row.count(**sizes) for row in chain.rows}


# {{{ one statement

def test_saxpy() -> None:
    flow = flow_of(in_lanes(kernel("{[i]: 0 <= i < n}", "y[i] = 3*x[i] + y[i]")))
    assert {LOAD: 1, MUL: 1, ADD: 1, STORE: 1} == at(flow.depth, n=100)
    assert {LOAD: 2, MUL: 1, ADD: 1, STORE: 1} == at(flow.work, n=100)
    assert Fraction(5, 4) == flow.instruction_parallelism(n=100)
    assert 2 == flow.memory_parallelism(n=100)


def test_sums_are_added_from_left_to_right() -> None:
    code = "out[i] = a[i] + a[i+1] + a[i+2] + a[i+3]*a[i+4]"
    (step,) = flow_of(in_lanes(kernel("{[i]: 0 <= i < n}", code))).dataflow.steps
    assert [3, 3, 2, 1, 1] == [reading.path.count(ADD) for reading in step.readings]
    assert [0, 0, 0, 1, 1] == [reading.path.count(MUL) for reading in step.readings]


def test_products_joined_to_sums() -> None:
    flow = flow_of(
        in_lanes(kernel("{[i]: 0 <= i < n}", "out[i] = a[i]*b[i] + c[i]*d[i] + e[i]")), group_multiply_add=True
    )
    (step,) = flow.dataflow.steps
    paths = {reading.variable: [kind for _, kind in reading.path[1:]] for reading in step.readings}
    both = ["madd", "madd"]  # e + a*b + c*d
    assert {"a": both, "b": both, "c": both, "d": both, "e": ["madd"]} == paths
    assert {LOAD: 5, ("float32", "madd"): 2, STORE: 1} == at(flow.work, n=100)


def test_of_nothing_but_products_the_first_is_not_joined() -> None:
    unit = in_lanes(kernel("{[i]: 0 <= i < n}", "out[i] = a[i]*b[i] + c[i]*d[i]"))
    flow = flow_of(unit, group_multiply_add=True)
    assert {LOAD: 4, MUL: 1, ("float32", "madd"): 1, STORE: 1} == at(flow.work, n=100)
    assert {LOAD: 1, MUL: 1, ("float32", "madd"): 1, STORE: 1} == at(flow.depth, n=100)


def test_stencil_on_three_points() -> None:
    flow = flow_of(in_lanes(kernel("{[i]: 0 <= i < n}", "v[i] = u[i] + (-2)*u[i+1] + u[i+2]")))
    assert {LOAD: 1, MUL: 1, ADD: 2, STORE: 1} == at(flow.depth, n=64)
    assert 3 == flow.memory_parallelism(n=64)
    assert Fraction(7, 5) == flow.instruction_parallelism(n=64)  # 3 loads, 3 operations, 1 store


def test_an_indirect_load_waits_for_its_index() -> None:
    flow = flow_of(in_lanes(kernel(
        "{[i]: 0 <= i < n}", "out[i] = a[where[i]]", lp.GlobalArg("where", np.int32, shape="n"),
        lp.GlobalArg("a", FLOAT, shape="n"),
    )))
    assert {LOAD: 2, STORE: 1} == at(flow.depth, n=64)
    assert 1 == flow.memory_parallelism(n=64)  # two loads in two rounds

# }}}


# {{{ reductions and recurrences

def test_dot_product_is_a_chain_of_additions() -> None:
    counts = counted(kernel("{[i]: 0 <= i < n}", "out = sum(i, a[i]*b[i])"))
    assert {"mul": 1, "add": 1000} == {row.kind: row.count(n=1000) for row in counts.depth()}
    assert counts.flow is not None
    assert "n" == str(counts.flow.depth.operations(kind="add"))
    (recurrence,) = counts.flow.graph.recurrences
    assert ("i", (((ADD, ()), 1),), 1) == (recurrence.loop, recurrence.acts, recurrence.chains)


def test_naive_matmul() -> None:
    flow = flow_of(matmul_naive.KERNEL.build())
    n = 256
    assert {LOAD: 1, MUL: 1, ADD: n, STORE: 1} == at(flow.depth, n=n)
    assert 2 == flow.memory_parallelism(n=n)
    assert Fraction(4 * n + 1, n + 3) == flow.instruction_parallelism(n=n)


def test_naive_matmul_of_joined_products_is_one_operation_a_step() -> None:
    flow = flow_of(matmul_naive.KERNEL.build(), group_multiply_add=True)
    assert {LOAD: 1, ("float32", "madd"): 256, STORE: 1} == at(flow.depth, n=256)


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
@pytest.mark.parametrize(("kind", "act"), [("add", ADD), ("rsqrt", RSQRT)])
def test_accumulators_side_by_side(kind: str, form: str, act: tuple[str, str], chains: int) -> None:
    flow = flow_of(arithmetic.KERNEL.build(kind=kind, form=form))
    sizes = {"n": 32, "k": 512}
    # before: 1 + scale*lane; after: the accumulators added up one by one
    expected = {MUL: 1, ADD: 1 + chains, STORE: 1}
    expected[act] = expected.get(act, 0) + 16 // chains * 512
    assert expected == at(flow.depth, **sizes)
    assert 16 * 512 == flow.work.operations()(**sizes) - 3 * chains
    assert math.isclose(chains, flow.instruction_parallelism(**sizes), rel_tol=0.02)
    steps = [r for r in flow.graph.recurrences if r.loop == "step"]
    assert [("acc", (((act, ()), 16 // chains),), chains)] == [(r.variable, r.acts, r.chains) for r in steps]


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
    (recurrence,) = flow.graph.recurrences
    assert (((ADD, ()), 1), ((RSQRT, ()), 1)) == recurrence.acts


def test_a_scan_passes_through_memory() -> None:
    flow = flow_of(kernel("{[i]: 1 <= i < n}", "x[i] = x[i-1] + y[i]", assumptions="n >= 2"))
    assert {LOAD: 49, ADD: 49, STORE: 49} == at(flow.depth, n=50)
    (recurrence,) = flow.graph.recurrences
    assert ("i", "x") == (recurrence.loop, recurrence.variable)


def test_updates_of_different_cells_are_independent() -> None:
    flow = flow_of(kernel("{[i, j]: 0 <= i, j < n}", "x[i, j] = 2*x[i, j] + y[i]"))
    assert {LOAD: 1, MUL: 1, ADD: 1, STORE: 1} == at(flow.depth, n=50)
    assert () == flow.graph.recurrences


def test_a_long_loop_of_constant_trips_is_prolonged() -> None:
    flow = flow_of(kernel("{[i, j]: 0 <= i < n and 0 <= j < 1000}", "out[i] = sum(j, a[i, j])"))
    assert {LOAD: 1, ADD: 1000, STORE: 1} == at(flow.depth, n=7)

# }}}


# {{{ the trips of loops

def test_a_triangle_below_the_work_item_is_as_deep_as_its_longest_row() -> None:
    flow = flow_of(in_lanes(kernel("{[i, j]: 0 <= i < n and 0 <= j <= i}", "out[i] = sum(j, a[j])")))
    assert {LOAD: 1, ADD: 48, STORE: 1} == at(flow.depth, n=48)


def test_a_sequential_triangle_is_counted_point_by_point() -> None:
    flow = flow_of(kernel("{[i, j]: 0 <= i < n and 0 <= j <= i}", "out = sum((i, j), a[i, j])"))
    assert 48 * 49 // 2 == flow.depth.operations(kind="add")(n=48)


def test_a_band_is_as_deep_as_its_width() -> None:
    unit = kernel("{[i, j]: 0 <= i < n and i <= j < i + 9}", "out[i] = sum(j, a[j])")
    assert 9 == flow_of(in_lanes(unit)).depth.operations()(n=48)


def test_statistics_give_the_trips_that_data_decide() -> None:
    unit = kernel(
        ["{[i]: 0 <= i < n}", "{[j]: first <= j < last}"],
        """
        for i
            <int32> first = starts[i] {id=first}
            <int32> last = starts[i + 1] {id=last}
            out[i] = sum(j, a[j]) {dep=first:last}
        end
        """,
        lp.GlobalArg("starts", np.int32, shape="n + 1"), lp.GlobalArg("a", FLOAT, shape=None),
    )
    flow = flow_of(in_lanes(unit), statistics={"j": Fraction(7, 2)})
    assert Fraction(7, 2) == flow.depth.operations()(n=48)

# }}}


# {{{ statements and barriers

def test_a_private_temporary_passes_its_value_on() -> None:
    unit = in_lanes(kernel("{[i]: 0 <= i < n}", """
        <> t = a[i]*a[i] {id=square}
        <> s = b[i] + 1 {id=other}
        out[i] = t + s {id=last, dep=square:other}
    """))
    flow = flow_of(unit)
    assert {LOAD: 1, MUL: 1, ADD: 1, STORE: 1} == at(flow.depth, n=32)
    assert {("square", "last", "t"), ("other", "last", "s")} == {
        (arc.source, arc.target, arc.variable) for arc in flow.graph.dependences
    }
    assert 3 == flow.memory_parallelism(n=32)  # a[i] is loaded as often as it is written


def barrier_between() -> lp.TranslationUnit:
    unit = lp.make_kernel(
        "{[i, ii, jj]: 0 <= i < n and 0 <= ii, jj < 16}",
        """
        for i
            tile[ii] = rsqrt(a[16*i + ii]) {id=fill}
            out[16*i + jj] = tile[15 - jj] + 1 {id=use, dep=fill}
        end
        """,
        [lp.GlobalArg("a, out", FLOAT, shape="16*n"),
         lp.TemporaryVariable("tile", FLOAT, shape=(16,), address_space=lp.AddressSpace.LOCAL), ...],
        assumptions="n >= 1", lang_version=(2018, 2), name="reversal",
    )  # fmt: skip
    return lp.tag_inames(unit, "i:g.0, ii:l.0, jj:l.0")


def test_another_work_items_value_arrives_through_the_barrier() -> None:
    flow = flow_of(barrier_between())
    whole = {LOAD: 1, RSQRT: 1, LOCAL_STORE: 1, BARRIER: 1, LOCAL_LOAD: 1, ADD: 1, STORE: 1}
    assert whole == at(flow.depth, n=4)
    assert ["entry", "run", "barrier", "run", "exit"] == [node.kind for node in flow.graph.nodes]
    assert [(0, 1), (1, 2), (2, 3), (3, 4)] == [(t.source, t.target) for t in flow.graph.transitions]
    (arc,) = flow.graph.dependences
    assert ("fill", "use", "tile", "") == (arc.source, arc.target, arc.variable, arc.carried)
    assert (LOCAL_LOAD, ADD) == arc.path


def test_the_graph_of_the_tiled_matmul() -> None:
    graph = flow_of(matmul_tiled.KERNEL.build()).graph
    kinds = [(node.kind, len(node.steps), node.loops) for node in graph.nodes]
    outer, inner = ("k_outer",), ("k_outer", "k_inner")
    assert [
        ("entry", 0, ()), ("run", 1, ()), ("barrier", 0, outer), ("run", 2, outer), ("barrier", 0, outer),
        ("run", 1, inner), ("run", 1, ()), ("exit", 0, ()),
    ] == kinds
    back = {(arc.source, arc.target, arc.loop) for arc in graph.transitions if arc.loop}
    assert {(5, 5, "k_inner"), (5, 2, "k_outer")} == back
    assert 256 == graph.nodes[5].executions(n=32, m=256, l=32)
    assert 16 == graph.nodes[2].executions(n=32, m=256, l=32)
    update = graph.nodes[5].steps[0].name
    assert [5] == [k for k, node in enumerate(graph.nodes) if update in {step.name for step in node.steps}]
    assert {"k_inner", "k_outer"} == {
        arc.carried for arc in graph.dependences if (arc.source, arc.target) == (update, update)
    }


def test_unrolled_loops_issue_their_loads_together() -> None:
    unit = kernel("{[i, u]: 0 <= i < n and 0 <= u < 4}", "out[i] = sum(u, a[i, u])")
    assert 1 == flow_of(in_lanes(unit)).memory_parallelism(n=32)
    assert 4 == flow_of(in_lanes(lp.tag_inames(unit, "u:unr"))).memory_parallelism(n=32)


def test_costs_decide_which_chain_is_the_longest() -> None:
    flow = flow_of(in_lanes(kernel("{[i]: 0 <= i < n}", "out[i] = a[i]*a[i]*a[i]*a[i] + rsqrt(b[i])")))
    assert {LOAD: 1, MUL: 3, ADD: 1, STORE: 1} == at(flow.chain(), n=32)
    assert {LOAD: 1, RSQRT: 1, ADD: 1, STORE: 1} == at(flow.chain({"rsqrt": 20}), n=32)
    assert {LOAD: 1, MUL: 3, ADD: 1, STORE: 1} == at(flow.chain({"rsqrt": 20, RSQRT: 1}), n=32)


@pytest.mark.parametrize("cost", [-1.0, math.inf, math.nan])
def test_bad_costs_are_refused(cost: float) -> None:
    flow = flow_of(in_lanes(kernel("{[i]: 0 <= i < n}", "out[i] = a[i]")))
    with pytest.raises(ActCostError, match=r"the cost of 'load'.* finite number") as caught:
        flow.chain({"load": cost})
    assert "load" == caught.value.act

# }}}


# {{{ what is declared, guarded, launched

def test_a_guard_is_waited_for() -> None:
    unit = in_lanes(kernel("{[i]: 0 <= i < n}", """
        <> positive = a[i]*a[i] > 1 {id=test}
        if positive
            out[i] = b[i] {dep=test}
        end
    """))
    assert {LOAD: 1, MUL: 1, STORE: 1} == at(flow_of(unit).depth, n=32)


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
    assert 2 == len({node.launch for node in flow.graph.nodes})


def test_declared_operations_of_c_code_wait_for_one_another() -> None:
    unit = lp.make_kernel(
        "{[i]: 0 <= i < n}",
        [lp.CInstruction("i", "y = 2*x + 1;", assignees=("y",), read_variables=frozenset({"x"}), id="code",
                         within_inames=frozenset({"i"})),
         "x = a[i] {id=load}", "out[i] = y {dep=code}"],
        [lp.GlobalArg("a, out", FLOAT, shape="n"), lp.TemporaryVariable("x", FLOAT),
         lp.TemporaryVariable("y", FLOAT), ...],
        assumptions="n >= 1", lang_version=(2018, 2), seq_dependencies=False,
    )  # fmt: skip
    unit = lp.add_dependency(unit, "id:code", "id:load")
    flow = flow_of(in_lanes(unit), declared={"code": {MUL: 1, ADD: 1}})
    assert {LOAD: 1, MUL: 1, ADD: 1, STORE: 1} == at(flow.depth, n=64)

# }}}


# {{{ the corpus

@pytest.mark.filterwarnings("ignore::loopy.diagnostic.LoopyWarning")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("subject", [k for k in kernels() if k.realistic], ids=lambda k: k.name)
def test_bounds_on_every_kernel(subject: CorpusKernel) -> None:
    counts = counted(subject.build())
    flow = counts.flow
    assert flow is not None
    sizes = max(subject.cases, key=lambda case: math.prod(case.values()))
    work, depth, parts = (at(chain, **sizes) for chain in (flow.work, flow.depth, flow.between_barriers))
    assert all(parts[act] <= work[act] for act in parts)
    assert sum(depth[a] for a in depth if a[0] not in SHARED) <= sum(work[a] for a in work if a[0] not in SHARED)
    # the work-item with the longest loops does no less than the mean one
    assert counts.operations()(**sizes) <= flow.work.operations()(**sizes) * counts.work_items()(**sizes)
    assert flow.instruction_parallelism(**sizes) >= 1
    assert flow.memory_parallelism(**sizes) >= 1

# }}}


# {{{ stored counts

def test_dataflow_is_stored_with_the_counts() -> None:
    counts = counted(matmul_tiled.KERNEL.build())
    again = KernelCounts.from_json(json.loads(json.dumps(counts.to_json())))
    assert counts.flow is not None
    assert again.flow is not None
    assert counts.flow.dataflow == again.flow.dataflow
    sizes = {"n": 64, "m": 256, "l": 32}
    assert at(counts.flow.depth, **sizes) == at(again.flow.depth, **sizes)
    assert at(counts.flow.depth, **sizes) == at(pickle.loads(pickle.dumps(counts)).flow.depth, **sizes)


def test_counts_stored_before_have_none() -> None:
    document = json.loads(json.dumps(counted(matmul_naive.KERNEL.build()).to_json()))
    del document["source"]["dataflow"]
    old = KernelCounts.from_json(document)
    assert old.flow is None
    assert document == old.to_json()
    with pytest.raises(FlowUnknownError, match=r"matmul_naive.*count the kernel again"):
        old.depth()


def test_parallelism_at_arrays_of_sizes() -> None:
    parallel = flow_of(matmul_naive.KERNEL.build()).instruction_parallelism
    n = np.array([16, 32, 256])
    np.testing.assert_allclose((4 * n + 1) / (n + 3), parallel.evaluate({"n": n}), rtol=1e-12)

# }}}
