"""Times of average sub-groups and their critical paths, by hand."""

from __future__ import annotations

import loopy as lp
import pytest

from measurement_kernels import matmul_tiled
from perfmodel.counts import KernelCounts, count
from scripts.lab.kim.work_flow import timeline, work_flow
from tests.lab.kim.test_work_flow import ADD, FLOAT, ISSUE, MEMORY, SPECIAL, TOY, counted


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
