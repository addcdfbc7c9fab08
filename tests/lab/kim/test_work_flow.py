"""Work flow graphs of small kernels, their times and critical paths, and their pictures, by hand."""

from typing import Any

import loopy as lp
import numpy as np
import pytest

from measurement_kernels import matmul_tiled
from perfmodel.counts import KernelCounts, count
from perfmodel.errors import FactsError
from perfmodel.quantities.case import Case
from scripts.lab.kim.active_lanes import ActiveLanes, active_lanes
from scripts.lab.kim.balanced import Conditions, conditions
from scripts.lab.kim.control_flow import Averages, control_flow
from scripts.lab.kim.pictures import work_flow_figure
from scripts.lab.kim.work_flow import Latencies, WorkFlow, timeline, work_flow, work_flow_on
from tests.corpus.kernel import make
from tests.standins import made_up

ISSUE, ADD, SPECIAL, MEMORY, LOCAL, BARRIER = 1.0, 10.0, 40.0, 400.0, 30.0, 50.0
TOY = Latencies(ISSUE, ADD, SPECIAL, MEMORY, LOCAL, BARRIER, ISSUE)
FLOAT = np.float32


def counted(domain: str, code: str, **types: Any) -> KernelCounts:
    unit = lp.make_kernel(domain, code, assumptions="n >= 1", lang_version=(2018, 2), name="made_up")
    unit = lp.add_dtypes(unit, types or {"x": FLOAT})
    # a sub-group of 32 floats in lines of 128 B: one transaction an access
    return count(lp.split_iname(unit, "i", 32, outer_tag="g.0", inner_tag="l.0"), cache=False)


@pytest.fixture(scope="module")
def graph() -> WorkFlow:
    return work_flow(count(matmul_tiled.KERNEL.build()), dict.fromkeys(("l", "m", "n"), 64))


def test_matmul_has_the_nodes_of_its_code(graph: WorkFlow) -> None:
    kinds = "entry barrier global local global local barrier local compute global exit"
    assert kinds.split() == [node.kind for node in graph.nodes]
    assert [1, 4, 4, 4, 4, 4, 4, 64, 64, 1, 1] == [node.executions for node in graph.nodes]
    straight = [(source, target) for source, target, loop in graph.transitions if not loop]
    assert [(k, k + 1) for k in range(10)] == sorted(straight)
    assert {(8, 7, "k_inner"), (8, 1, "k_outer")} == {arc for arc in graph.transitions if arc[2]}
    assert {(2, 3), (4, 5), (3, 7), (5, 7), (7, 8), (8, 8), (8, 9)} == {(a.source, a.target) for a in graph.dependences}


def test_a_guard_weighs_what_it_lets_through() -> None:
    """Half of the sub-groups store."""
    counts = counted("{[i]: 0 <= i < n}", "if i < 1600\n y[i] = x[i] {id=store}\nend")
    assert [0.5, 0.5] == [node.executions for node in work_flow(counts, {"n": 3200}).nodes if node.kind == "global"]


def tile_of_every_second_word() -> lp.TranslationUnit:
    """Each of 32 lanes stores every fourth cell of x in every second word of a tile, and loads its own word again."""
    unit = make("{[g, l, m]: 0 <= g < n and 0 <= l, m < 32}",
                "for g\n tile[2*l] = x[g, 4*l] {id=put}\n y[g, m] = tile[2*m] {dep=put}\nend",
                "x: n, 128; y: n, 32; local tile: 64", assumes="n >= 1")  # fmt: skip
    return lp.tag_inames(unit, {"g": "g.0", "l": "l.0", "m": "l.0"})


def test_transactions_and_banks_are_those_of_the_device() -> None:
    """32 lanes 16 bytes apart span 512 bytes; of the words that they store 8 bytes apart, 2 share one of 32 banks."""
    counts = count(tile_of_every_second_word(), 32)

    def turns(**known: int) -> tuple[float, float]:
        nodes = work_flow_on(counts, {"n": 4}, made_up(**known)).nodes
        return tuple(next(n.serial for n in nodes if n.arrays == (array,)) for array in ("x", "tile"))  # type: ignore[return-value]

    assert (8, 2) == turns()
    assert (8, 2) == turns(banks=32, cache_line_bytes=64)
    assert (4, 2) == turns(l2_line_bytes=128, cache_line_bytes=64)
    assert (16, 4) == turns(global_transaction_bytes=32, cache_line_bytes=64, banks=16)


def test_latencies_of_a_device() -> None:
    facts = {"lanes_per_unit": 64, "clock_hz": 1e9, "register_latency_s": 1e-8, "memory_latency_s": 4e-7}
    with pytest.raises(FactsError, match="local_latency_s"):
        Latencies.of(made_up(**facts), 32)
    found = Latencies.of(made_up(**facts, local_latency_s=3e-8), 32)
    assert Latencies(5e-10, 1e-8, 1e-8, 4e-7, 3e-8, 5e-10, 5e-10) == found
    with pytest.raises(FactsError, match="issue_s"):
        Latencies.of(None, 32)


def seconds(counts: KernelCounts, **sizes: int) -> float:
    return timeline(work_flow(counts, sizes, 128), TOY).seconds


@pytest.mark.parametrize("k", [1, 2, 5])
def test_a_chain_waits_for_each_link(k: int) -> None:
    """Load, then k additions of which each waits for the one before, then the store."""
    first = "<> t0 = x[i] + 1 {id=s0}"
    links = "\n".join([first, *(f"<> t{j} = t{j - 1} + 1 {{id=s{j},dep=s{j - 1}}}" for j in range(1, k))])
    counts = counted("{[i]: 0 <= i < n}", f"for i\n{links}\ny[i] = t{k - 1} {{dep=s{k - 1}}}\nend")
    assert MEMORY + k * ADD + ISSUE == seconds(counts, n=3200)


@pytest.mark.parametrize("k", [2, 5])
def test_independent_operations_only_issue(k: int) -> None:
    """k additions to one loaded value: all but the last issue while it is not needed."""
    code = ["<> v = x[i] {id=load}"]
    code += [f"<> t{j} = v + {j + 1} {{id=s{j}}}" for j in range(k)]
    code += [f"y[i,{j}] = t{j} {{id=w{j}}}" for j in range(k)]
    unit = lp.make_kernel(
        "{[i]: 0 <= i < n}", "\n".join(["for i", *code, "end"]),
        [lp.GlobalArg("y", FLOAT, shape=("n", k), order="F"), ...],
        assumptions="n >= 1", lang_version=(2018, 2), seq_dependencies=True,
    )
    unit = lp.split_iname(lp.add_dtypes(unit, {"x": FLOAT}), "i", 32, outer_tag="g.0", inner_tag="l.0")
    counts = count(unit, cache=False)
    time = timeline(work_flow(counts, {"n": 3200}, 128), TOY)
    waited = sum(time.stalled)
    # the load, and the first result at the first store
    assert (MEMORY - ISSUE) + (ADD - k * ISSUE) == waited
    assert waited + (1 + k + k) * ISSUE == time.seconds


@pytest.mark.parametrize("n", [1, 2, 3, 50])
def test_a_recurrence_takes_its_latency_each_time(n: int) -> None:
    """The special function waits for itself; the only load comes before the loop."""
    counts = counted("{[i,k]: 0 <= i < 3200 and 0 <= k < n}", """
        for i
            <> t = x[i] {id=load}
            for k
                t = exp(t) {id=step,dep=load}
            end
            y[i] = t {dep=step}
        end
    """)
    assert pytest.approx(MEMORY + n * SPECIAL + ISSUE) == seconds(counts, n=n)


def test_what_loads_take_beyond_one_transaction() -> None:
    counts = counted("{[i]: 0 <= i < n}", "y[i] = x[4*i]")
    node = next(node for node in work_flow(counts, {"n": 3200}, 128).nodes if node.arrays == ("x",))
    assert 4.0 == node.serial
    assert 4 * ISSUE + (MEMORY - ISSUE) + ISSUE == seconds(counts, n=3200)


def test_the_parts_of_the_time_add_up_and_the_path_is_connected() -> None:
    graph = work_flow(count(matmul_tiled.KERNEL.build()), dict.fromkeys(("l", "m", "n"), 512))
    time = timeline(graph, TOY)
    assert pytest.approx(sum(time.issued) + sum(time.stalled)) == time.seconds
    assert pytest.approx(sum(time.stalled)) == sum(wait for _, wait in time.waits)
    assert pytest.approx(time.seconds / sum(time.issued)) == time.hiding
    arcs = {(s, t, False) for s, t, _ in graph.transitions} | {(a.source, a.target, True) for a in graph.dependences}
    barriers = {k for k, node in enumerate(graph.nodes) if node.kind == "barrier"}
    assert {arc for arc in time.critical if arc[1] not in barriers} <= arcs
    assert {0, len(graph.nodes) - 1} <= {end for arc in time.critical for end in arc[:2]}


def test_a_heat_map_shows_the_lanes_active_in_each_node(graph: WorkFlow) -> None:
    """The first of four lanes is active half of the time; unknown lanes are hatched, a barrier has none."""
    lanes: list[ActiveLanes | None] = [None] * len(graph.nodes)
    lanes[2:4] = ActiveLanes(2.0, 4.0, (0.5, 0.0, 0.0, 0.0)), ActiveLanes(0.0, 0.0, (0.0,) * 4, unknown="data decide")
    for time, panels in ((None, 2), (timeline(graph, TOY), 3)):
        axes = work_flow_figure(graph, time, lanes).axes
        assert panels == len(axes)
        (cells,) = axes[-1].collections
        assert [0.5, 0, 0, 0] == cells.get_array().ravel().tolist()
        assert [2 - 0.31, 3 - 0.31] == pytest.approx([patch.get_y() for patch in axes[-1].patches])
        assert [None, "///"] == [patch.get_hatch() for patch in axes[-1].patches]
        assert [" 12.5 %", " unknown"] == [text.get_text() for text in axes[-1].texts]
        assert "lanes active: 12.5 %" == axes[-1].get_title()
        assert axes[0].get_ylim() == axes[-1].get_ylim()


def averages(code: str, sizes: dict[str, int]) -> Averages:
    unit = make("{ [i, k]: 0 <= i < n and 0 <= k < m }", code, assumes="n >= 1 and m >= 1")
    names = [argument.name for argument in unit.default_entrypoint.args if argument.dtype is None]
    unit = lp.add_dtypes(unit, {name: np.float32 for name in names if name not in "nm"})
    unit = lp.split_iname(unit, "i", 64, outer_tag="g.0", inner_tag="l.0")
    flow = count(unit, cache=False).flow
    return Averages(flow.cardinalities, sizes)


def test_a_guarded_statement_counts_by_its_accesses() -> None:
    # the guard lets the first 64 of 640 work-items through: 2 of 20 sub-groups; z is stored in a loop of 2 trips
    found = averages("""
        if i < 64
            y[i] = 2*x[i] {id=guarded}
        end
        z[i, k] = x[i]
    """, {"n": 640, "m": 2})
    (launch,) = found.launches
    assert pytest.approx(0.1) == found.executions(launch, (), "guarded")
    assert 2 == found.executions(launch, ("k",))


def test_control_flow_of_the_tiled_matmul() -> None:
    nodes, transitions = control_flow(count(matmul_tiled.KERNEL.build(), cache=False).flow)
    outer, inner = ("k_outer",), ("k_outer", "k_inner")
    assert [
        ("entry", 0, ()), ("run", 1, ()), ("barrier", 0, outer), ("run", 2, outer), ("barrier", 0, outer),
        ("run", 1, inner), ("run", 1, ()), ("exit", 0, ()),
    ] == [(node.kind, len(node.steps), node.loops) for node in nodes]
    assert {(5, 5, "k_inner"), (5, 2, "k_outer")} == {(t.source, t.target, t.loop) for t in transitions if t.loop}


def judged(
    counts: KernelCounts, sizes: dict[str, int], lanes: list[ActiveLanes] | None = None, line: int = 128, **facts: float
) -> Conditions:
    graph = work_flow(counts, sizes, line)
    lanes = lanes or active_lanes(counts, graph, sizes)
    return conditions(graph, timeline(graph, TOY), lanes, Case(counts, sizes, made_up(**facts)), TOY)


def test_enough_sub_groups_and_a_memory_as_fast_as_the_units_are_balanced() -> None:
    """A load, an addition and a store wait 399 s and 9 s: 137 sub-groups hide that. 300 on two units issue 3 s each."""
    counts, sizes = counted("{[i]: 0 <= i < n}", "y[i] = x[i] + 1"), {"n": 300 * 32}
    rate = 300 * 32 * 8 / 450
    device = {"compute_units": 2, "memory_bandwidth_bytes_per_s": rate}
    found = judged(counts, sizes, **device)
    assert Conditions(0.0, 0.0, 0.0, 450.0, pytest.approx(450.0)) == found
    assert (True, ()) == (found.balanced, found.hindrances)
    slower = judged(counts, sizes, compute_units=2, memory_bandwidth_bytes_per_s=rate / 2)
    assert (False, ("computing takes 450 s, moving the data 900 s",)) == (slower.balanced, slower.hindrances)
    few = judged(counts, sizes, **device, max_groups_per_unit=100)
    assert 1 - 100 / 137 == pytest.approx(few.data)
    assert ("27.0 % of the time no sub-group hides the waits",) == few.hindrances
    idle = judged(counts, sizes, [ActiveLanes(16.0, 1.0, (1.0,) * 16 + (0.0,) * 16)], **device)
    assert ("50.0 % of the lanes are idle",) == idle.hindrances


def test_bank_conflicts_are_a_hazard_and_transactions_are_none() -> None:
    """Eight transactions of x, two turns of each access to local memory, two transactions of y; memory is ideal.

    No barrier is needed, as each lane reads what it wrote.
    """
    counts = count(tile_of_every_second_word(), 32, cache=False)
    found = judged(counts, {"n": 2}, line=64, compute_units=2.0, memory_bandwidth_bytes_per_s=1.0)
    assert pytest.approx(2 / (8 + 2 + 2 + 2)) == found.structural
    assert ISSUE + 2 + 2 + ISSUE == found.compute_s
