"""Rows of counts from a program made by hand."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import islpy as isl

from perfmodel.counts.kernel import KernelCounts
from perfmodel.counts.program.program import (
    Access,
    BarrierSite,
    Domain,
    LaneStride,
    Launch,
    Operation,
    Program,
    Statement,
)
from perfmodel.counts.rows import LaunchShape
from perfmodel.counts.tables import tabulate

ZERO, ONE, TWO = (isl.PwQPolynomial(f"{{ {k} }}") for k in range(3))
# n groups of 16 lanes; every lane runs k from 0 to 2
GROUPS = "[n] -> { [g, l, k] : 0 <= g < n and 0 <= l < 16 and 0 <= k < 3 and n >= 1 }"
DOMAIN = Domain(0, isl.Set(GROUPS), ("g.0", "l.0", ""))
LINE = isl.Set("[n] -> { [x] : 0 <= x < 32n }")
EVERY = Access(
    "global", "load", "a", "float32", 32, isl.Map("{ [g, l, k] -> [16g + l] }"), True, (LINE,), 0,
    (LaneStride(ONE, None, 1),), (ONE,), ZERO,
)
SECOND = replace(EVERY, cells=isl.Map("{ [g, l, k] -> [32g + 2l] }"), lane_stride=(LaneStride(TWO, None, 2),))
SHAPE = LaunchShape((16,), 0, 0)


def program(*statements: Statement, barriers: tuple[BarrierSite, ...] = ()) -> Program:
    launch = Launch("kernel", (16,), (isl.PwAff("[n] -> { [(n)] }"),), isl.Set("[n] -> { [] : n >= 1 }"))
    return Program("made", ("n",), isl.Set("[n] -> { : n >= 1 }"), (launch,), statements, barriers, ())


def counted(*statements: Statement, barriers: tuple[BarrierSite, ...] = ()) -> KernelCounts:
    return tabulate(program(*statements, barriers=barriers), 8, SHAPE)


def test_operations_of_all_statements_are_added_up() -> None:
    half = replace(DOMAIN, chance=Fraction(1, 2), exact=False)
    counts = counted(
        Statement(DOMAIN, (Operation("float32", "add", 2), Operation("int32", "add")), ()),
        Statement(half, (Operation("float32", "add", 4),), ()),
    )
    found = {(row.dtype, row.kind): row.count for row in counts.operation_table}
    # 48 n points: 2*48 n and half of 4*48 n
    assert {("float32", "add"): 1920, ("int32", "add"): 480} == {key: value(n=10) for key, value in found.items()}
    assert not found["float32", "add"].exact
    assert found["int32", "add"].exact


def test_each_stride_of_an_array_is_a_row_and_the_footprint_is_the_arrays() -> None:
    counts = counted(Statement(DOMAIN, (), (EVERY, EVERY)), Statement(DOMAIN, (), (SECOND,)))
    one, two = counts.access_table
    assert (["{ 1 }", "{ 2 }"]) == [str(row.stride.polynomial) for row in (one, two)]
    assert (2 * 480, 480) == (one.count(n=10), two.count(n=10))
    # cells 0 .. 16n-1, and the even ones below 32n: 16n + 8n
    assert [240, 240] == [row.footprint(n=10) for row in (one, two) if row.footprint is not None]
    assert one.filled is None
    assert two.filled is not None
    assert 320 == two.filled(n=10)  # each even cell with the one behind it: 0 .. 32n-1


def test_a_stride_on_a_part_of_the_domain_takes_its_executions_from_the_first() -> None:
    # lane 15 of each group is 0 cells from its neighbour, the others 1
    last = LaneStride(ZERO, isl.Set("[n] -> { [g, l, k] : l = 15 }"), 0)
    counts = counted(Statement(DOMAIN, (), (replace(EVERY, lane_stride=(LaneStride(ONE, None, 1), last)),)))
    assert {"0": 3 * 10, "1": 15 * 3 * 10} == {str(row.stride): row.count(n=10) for row in counts.access_table}


def test_barriers_are_met_by_all_work_items_of_a_group() -> None:
    site = BarrierSite(0, "local", isl.Set("[n] -> { [k] : 0 <= k < 3 and n >= 1 }"), ("",))
    counts = counted(barriers=(site, replace(site, points=isl.Set("[n] -> { [] : n >= 1 }"), axes=())))
    (row,) = counts.barrier_table
    assert ("local", (3 + 1) * 16 * 10) == (row.scope, row.count(n=10))


def test_only_parameters_that_decide_are_named() -> None:
    counts = tabulate(replace(program(Statement(DOMAIN, (), (EVERY,))), parameters=("m", "n")), 8, SHAPE)
    assert ("n",) == counts.parameters
    shifted = replace(EVERY, cells=isl.Map("[m] -> { [g, l, k] -> [16g + l + m] }"))  # its footprint depends on m
    counts = tabulate(replace(program(Statement(DOMAIN, (), (EVERY, shifted))), parameters=("m", "n")), 8, SHAPE)
    assert ("m", "n") == counts.parameters
    assert 16 * 10 + 5 == counts.footprint("a")(m=5, n=10)
