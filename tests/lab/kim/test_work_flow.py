"""Work flow graphs of small kernels, by hand."""

from __future__ import annotations

from typing import Any

import loopy as lp
import numpy as np
import pytest

from measurement_kernels import matmul_tiled
from perfmodel.counts import KernelCounts, count
from perfmodel.errors import FactsError
from perfmodel.facts import DeviceFacts, Fact
from scripts.lab.kim.work_flow import Latencies, work_flow, work_flow_on

ISSUE, ADD, SPECIAL, MEMORY, LOCAL, BARRIER = 1.0, 10.0, 40.0, 400.0, 30.0, 50.0
TOY = Latencies(ISSUE, ADD, SPECIAL, MEMORY, LOCAL, BARRIER, ISSUE)
FLOAT = np.float32


def counted(domain: str, code: str, **types: Any) -> KernelCounts:
    unit = lp.make_kernel(domain, code, assumptions="n >= 1", lang_version=(2018, 2), name="made_up")
    unit = lp.add_dtypes(unit, types or {"x": FLOAT})
    # a sub-group of 32 floats in lines of 128 B: one transaction an access
    return count(lp.split_iname(unit, "i", 32, outer_tag="g.0", inner_tag="l.0"), cache=False)


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


def tile_of_every_second_word() -> lp.TranslationUnit:
    """Each of 32 lanes stores every fourth cell of x in every second word of a tile, and loads its own word again."""
    unit = lp.make_kernel(
        "{[g, l, m]: 0 <= g < n and 0 <= l, m < 32}",
        "for g\n tile[2*l] = x[g, 4*l] {id=put}\n y[g, m] = tile[2*m] {dep=put}\nend",
        [lp.GlobalArg("x", FLOAT, shape="n, 128"), lp.GlobalArg("y", FLOAT, shape="n, 32"),
         lp.TemporaryVariable("tile", FLOAT, shape=(64,), address_space=lp.AddressSpace.LOCAL), ...],
        assumptions="n >= 1", lang_version=(2018, 2),
    )  # fmt: skip
    return lp.tag_inames(unit, {"g": "g.0", "l": "l.0", "m": "l.0"})


def test_transactions_and_banks_are_those_of_the_device() -> None:
    """32 lanes 16 bytes apart span 512 bytes; of the words that they store 8 bytes apart, 2 share one of 32 banks."""
    counts = count(tile_of_every_second_word(), 32)

    def turns(**known: int) -> tuple[float, float]:
        facts = {key: Fact(value, "", "test") for key, value in known.items()}
        nodes = work_flow_on(counts, {"n": 4}, DeviceFacts.from_mapping("toy", "", "", facts)).nodes
        return tuple(next(n.serial for n in nodes if n.arrays == (array,)) for array in ("x", "tile"))  # type: ignore[return-value]

    assert (8, 2) == turns()
    assert (8, 2) == turns(banks=32, cache_line_bytes=64)
    assert (4, 2) == turns(l2_line_bytes=128, cache_line_bytes=64)
    assert (16, 4) == turns(global_transaction_bytes=32, cache_line_bytes=64, banks=16)


def test_latencies_of_a_device() -> None:
    facts = {
        "lanes_per_unit": Fact(64, "", "test"), "clock_hz": Fact(1e9, "Hz", "test"),
        "register_latency_s": Fact(1e-8, "s", "test"), "memory_latency_s": Fact(4e-7, "s", "test"),
    }
    with pytest.raises(FactsError, match="local_latency_s"):
        Latencies.of(DeviceFacts.from_mapping("toy", "", "", facts), 32)
    facts["local_latency_s"] = Fact(3e-8, "s", "test")
    found = Latencies.of(DeviceFacts.from_mapping("toy", "", "", facts), 32)
    assert Latencies(5e-10, 1e-8, 1e-8, 4e-7, 3e-8, 5e-10, 5e-10) == found
    with pytest.raises(FactsError, match="issue_s"):
        Latencies.of(None, 32)
