"""The control flow of a kernel, and executions of an average sub-group, by hand."""

from __future__ import annotations

import loopy as lp
import numpy as np
import pytest

from measurement_kernels import matmul_tiled
from perfmodel.counts import count
from scripts.lab.kim.control_flow import Averages, control_flow


def averages(code: str, sizes: dict[str, int]) -> Averages:
    unit = lp.make_kernel(
        "{ [i, k]: 0 <= i < n and 0 <= k < m }", code, lang_version=(2018, 2), assumptions="n >= 1 and m >= 1"
    )
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
