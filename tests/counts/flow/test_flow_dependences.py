"""Dependences of small kernels, by hand."""

from __future__ import annotations

import loopy as lp

from measurement_kernels import matmul_tiled
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
    flow_of,
    in_lanes,
    kernel,
)


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
    (arc,) = flow.dependences
    assert ("fill", "use", "tile", "") == (arc.source, arc.target, arc.variable, arc.carried)
    assert (LOCAL_LOAD, ADD) == arc.path


def test_dependences_of_the_tiled_matmul() -> None:
    flow = flow_of(matmul_tiled.KERNEL.build())
    assert {"k_inner", "k_outer"} == {arc.carried for arc in flow.dependences if arc.source == arc.target}
