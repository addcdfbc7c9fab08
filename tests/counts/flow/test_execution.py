"""The state of a walk after statements, barriers, stores and reads, by hand; every operation costs 1."""

from __future__ import annotations

from dataclasses import replace

from perfmodel.counts.flow.execution import (
    ACCESSED,
    FENCE,
    LATEST,
    Arc,
    Arcs,
    CellValue,
    Position,
    Rules,
    State,
    execute,
    execute_barrier,
)
from perfmodel.counts.flow.paths import Path
from perfmodel.counts.program.program import OpKind, Read, Step, Write

LOAD: OpKind = ("global", "load")
STORE: OpKind = ("local", "store")
BARRIER: OpKind = ("local", "barrier")
ADD: OpKind = ("float32", "add")
MUL: OpKind = ("float32", "mul")
RULES = Rules(lambda operation: 1.0)
# t = a*b + c: only a and b enter the product
FIRST = Step(
    "first", tuple(Read(name, (), path) for name, path in (
        ("a", (LOAD, MUL, ADD)), ("b", (LOAD, MUL, ADD)), ("c", (LOAD, ADD)),
    )), (Write("t", (), "private"),), ((*LOAD, 3), (*MUL, 1), (*ADD, 1)),
)  # fmt: skip
SECOND = Step("second", (Read("t", (), (ADD,)),), (Write("tile", (), "local"),), ((*ADD, 1), (*STORE, 1)))


def operations(state: State, name: str) -> dict[OpKind, int]:
    return {operation: amount for (operation, _), amount in state.path(name).terms.items()}


def run(*steps: Step, rules: Rules = RULES) -> tuple[State, Arcs]:
    state: State = State()
    arcs: Arcs = {}
    for step in steps:
        execute(step, Position(), rules, state, arcs)
    return state, arcs


def test_a_result_waits_for_the_costliest_value() -> None:
    state, arcs = run(FIRST)
    assert {LOAD: 1, MUL: 1, ADD: 1} == operations(state, LATEST)
    assert {LOAD: 1} == operations(state, ACCESSED)
    assert {} == arcs  # nothing was stored before


def test_a_reader_goes_on_where_the_writer_ended() -> None:
    state, arcs = run(FIRST, SECOND)
    assert {LOAD: 1, MUL: 1, ADD: 2, STORE: 1} == operations(state, LATEST)
    assert [Arc("first", "second", "t", "", (ADD,))] == list(arcs.values())


def test_a_guarded_store_may_leave_the_old_value() -> None:
    # the short guarded step is not the end of the chain: t may still be what the first step stored
    short = Step("short", (Read("d", (), ()),), FIRST.writes, (), guarded=True)
    state, arcs = run(FIRST, short, SECOND)
    assert {LOAD: 1, MUL: 1, ADD: 2, STORE: 1} == operations(state, LATEST)
    assert {"first", "short"} == {arc.source for arc in arcs.values()}
    # where it is executed for sure, the chain is an addition and the store
    certain, _ = run(FIRST, replace(short, guarded=False), SECOND)
    (value,) = certain.read("tile", ())
    assert 2 == value.path.cost


def test_a_barrier_waits_for_accesses_and_not_for_operations() -> None:
    # the path to the store is longer than that to the load, and the barrier waits for the store
    state, _ = run(FIRST)
    execute_barrier("local", RULES, state)
    assert {LOAD: 1, BARRIER: 1} == operations(state, FENCE)
    assert {LOAD: 1, MUL: 1, ADD: 1} == operations(state, LATEST)  # still the longest: 3 operations over 2
    fenced, _ = run(FIRST, rules=Rules(RULES.cost, fenced=True))
    execute_barrier("local", Rules(RULES.cost, fenced=True), fenced)
    assert {LOAD: 1, MUL: 1, ADD: 1, BARRIER: 1} == operations(fenced, FENCE)


def test_an_arc_names_the_outermost_loop_between_writer_and_reader() -> None:
    state: State = State()
    arcs: Arcs = {}
    outer = Position().iteration("j", (True, 0), 1)
    carry = Step("carry", (Read("s", (), (ADD,)),), (Write("s", (), "private"),), ((*ADD, 1),))
    execute(carry, outer.iteration("k", (True, 0), 1), RULES, state, arcs)
    state.cap_store_times(["s"], 3)  # an iteration of k, the second loop, has ended
    execute(carry, outer.iteration("k", (True, 1), 1), RULES, state, arcs)
    state.cap_store_times(["s"], 2)  # k has ended
    state.cap_store_times(["s"], 1)  # an iteration of j has ended
    execute(carry, Position().iteration("j", (True, 1), 1).iteration("k", (True, 0), 1), RULES, state, arcs)
    assert ["k", "j"] == [arc.carried for arc in arcs.values()]
    (value,) = state.read("s", ())
    assert 3 == value.path.cost


I0, I1 = (0, (("i", 1),)), (1, (("i", 1),))
ONE, TWO = Path({}, 1.0), Path({}, 2.0)


def test_a_read_finds_each_stored_cell_that_may_be_the_same() -> None:
    row, other, named = (0, ()), (1, ()), (0, (("j", 1),))  # indices: a constant, and inames with factors
    state = State()
    state.write("x", (row, None), CellValue(latest=1), certain=True)
    state.write("x", (other, None), CellValue(latest=2), certain=True)
    assert [2] == [value.latest for value in state.read("x", (other, named))]
    assert [] == state.read("x", ((2, ()), named))
    assert [1, 2] == [value.latest for value in state.read("x", ((0, (("i", 1),)), named))]
    assert [1, 2] == [value.latest for value in state.read("x", (None, named))]
    state.write("x", (row, named), CellValue(latest=3), certain=True)
    assert [1, 3] == [value.latest for value in state.read("x", (row, named))]
    assert [1] == [value.latest for value in state.read("x", (row, (1, (("j", 1),))))]
    assert [1, 2, 3] == [value.latest for value in state.read("x", (row,))]  # of another number of axes
