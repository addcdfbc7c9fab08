"""Work flow graphs of small kernels, their critical paths by hand."""

from __future__ import annotations

from typing import Any

import loopy as lp
import numpy as np
import pytest

from measurement_kernels import matmul_tiled
from perfmodel.analyses.latencies import Latencies
from perfmodel.analyses.timeline import timeline
from perfmodel.analyses.work_flow import work_flow
from perfmodel.counts import KernelCounts, count
from perfmodel.errors import MissingFactError
from perfmodel.facts import DeviceFacts, Fact

ISSUE, ADD, SPECIAL, MEMORY, LOCAL, BARRIER = 1.0, 10.0, 40.0, 400.0, 30.0, 50.0
TOY = Latencies(ISSUE, ADD, SPECIAL, MEMORY, LOCAL, BARRIER, ISSUE)
FLOAT = np.float32


def counted(domain: str, code: str, **types: Any) -> KernelCounts:
    unit = lp.make_kernel(domain, code, assumptions="n >= 1", lang_version=(2018, 2), name="made_up")
    unit = lp.add_dtypes(unit, types or {"x": FLOAT})
    # a sub-group of 32 floats in lines of 128 B: one transaction an access
    return count(lp.split_iname(unit, "i", 32, outer_tag="g.0", inner_tag="l.0"), cache=False)


def seconds(counts: KernelCounts, **sizes: int) -> float:
    return timeline(work_flow(counts, sizes, 128), TOY).seconds


# {{{ by hand

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
    unit = lp.make_kernel(
        "{[i,k]: 0 <= i < 3200 and 0 <= k < n}", """
        for i
            <> t = x[i] {id=load}
            for k
                t = exp(t) {id=step,dep=load}
            end
            y[i] = t {dep=step}
        end
        """, assumptions="n >= 1", lang_version=(2018, 2),
    )
    unit = lp.split_iname(lp.add_dtypes(unit, {"x": FLOAT}), "i", 32, outer_tag="g.0", inner_tag="l.0")
    assert pytest.approx(MEMORY + n * SPECIAL + ISSUE) == seconds(count(unit, cache=False), n=n)


def test_what_loads_take_beyond_one_transaction() -> None:
    counts = counted("{[i]: 0 <= i < n}", "y[i] = x[4*i]")
    node = next(node for node in work_flow(counts, {"n": 3200}, 128).nodes if node.arrays == ("x",))
    assert 4.0 == node.serial
    assert 4 * ISSUE + (MEMORY - ISSUE) + ISSUE == seconds(counts, n=3200)

# }}}


# {{{ the graph

def test_matmul_has_the_nodes_of_its_code() -> None:
    graph = work_flow(count(matmul_tiled.KERNEL.build()), dict.fromkeys(("l", "m", "n"), 64))
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

# }}}


def test_latencies_of_a_device() -> None:
    facts = {
        "lanes_per_unit": Fact(64, "", "test"), "clock_hz": Fact(1e9, "Hz", "test"),
        "register_latency_s": Fact(1e-8, "s", "test"), "memory_latency_s": Fact(4e-7, "s", "test"),
    }
    with pytest.raises(MissingFactError, match="local_latency_s"):
        Latencies.of(DeviceFacts.from_mapping("toy", "", "", facts), 32)
    facts["local_latency_s"] = Fact(3e-8, "s", "test")
    found = Latencies.of(DeviceFacts.from_mapping("toy", "", "", facts), 32)
    assert Latencies(5e-10, 1e-8, 1e-8, 4e-7, 3e-8, 5e-10, 5e-10) == found
    with pytest.raises(MissingFactError, match="issue_s"):
        Latencies.of(None, 32)


@pytest.mark.filterwarnings("ignore:LinearSubscript is deprecated:DeprecationWarning")
def test_a_linear_subscript_is_walked_once() -> None:
    """Loopy's ``x[[...]]``, an index into the flat array, once was walked without end."""
    unit = lp.make_kernel(
        "{[i]: 0 <= i < n}", "y[i] = x[[2*i + 1]]", [lp.GlobalArg("x", FLOAT, shape=("2*n + 2",)), ...],
        assumptions="n >= 1", lang_version=(2018, 2),
    )
    counts = count(unit, cache=False)
    assert 10 == counts.accesses(array="x")(n=10) == counts.footprint("x")(n=10)
