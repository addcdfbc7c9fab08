"""What one statement or barrier does to the state of a walk, by hand; every act costs 1."""

from __future__ import annotations

from dataclasses import replace

from perfmodel.counts.flow.execution import (
    ACCESSED,
    FENCE,
    LATEST,
    Arc,
    Arcs,
    Position,
    Rules,
    State,
    execute,
    meet_barrier,
)
from perfmodel.counts.program.program import Act, Reading, Step, Writing

LOAD: Act = ("global", "load")
STORE: Act = ("local", "store")
BARRIER: Act = ("local", "barrier")
ADD: Act = ("float32", "add")
MUL: Act = ("float32", "mul")
RULES = Rules(lambda act: 1.0)
# t = a*b + c: the product stands above a and b only
FIRST = Step(
    "first", tuple(Reading(name, (), path) for name, path in (
        ("a", (LOAD, MUL, ADD)), ("b", (LOAD, MUL, ADD)), ("c", (LOAD, ADD)),
    )), (Writing("t", (), "private"),), ((LOAD, 3), (MUL, 1), (ADD, 1)),
)  # fmt: skip
SECOND = Step("second", (Reading("t", (), (ADD,)),), (Writing("tile", (), "local"),), ((ADD, 1), (STORE, 1)))


def acts(state: State, name: str) -> dict[Act, int]:
    return {act: amount for (act, _), amount in state.path(name).terms.items()}


def run(*steps: Step, rules: Rules = RULES) -> tuple[State, Arcs]:
    state: State = State()
    arcs: Arcs = {}
    for step in steps:
        execute(step, Position(), rules, state, arcs)
    return state, arcs


def test_a_result_waits_for_the_costliest_value() -> None:
    state, arcs = run(FIRST)
    assert {LOAD: 1, MUL: 1, ADD: 1} == acts(state, LATEST)
    assert {LOAD: 1} == acts(state, ACCESSED)
    assert {} == arcs  # nothing was stored before


def test_a_reader_goes_on_where_the_writer_ended() -> None:
    state, arcs = run(FIRST, SECOND)
    assert {LOAD: 1, MUL: 1, ADD: 2, STORE: 1} == acts(state, LATEST)
    assert [Arc("first", "second", "t", "", (ADD,))] == list(arcs.values())


def test_a_guarded_store_may_leave_the_old_value() -> None:
    # the short guarded step is not the end of the chain: t may still be what the first step stored
    short = Step("short", (Reading("d", (), ()),), FIRST.writings, (), guarded=True)
    state, arcs = run(FIRST, short, SECOND)
    assert {LOAD: 1, MUL: 1, ADD: 2, STORE: 1} == acts(state, LATEST)
    assert {"first", "short"} == {arc.source for arc in arcs.values()}
    # where it is executed for sure, the chain is an addition and the store
    certain, _ = run(FIRST, replace(short, guarded=False), SECOND)
    (value,) = certain.read("tile", ())
    assert 2 == value.path.cost


def test_a_barrier_waits_for_accesses_and_not_for_operations() -> None:
    # the path to the store is longer than that to the load, and the barrier waits for the store
    state, _ = run(FIRST)
    meet_barrier("local", RULES, state)
    assert {LOAD: 1, BARRIER: 1} == acts(state, FENCE)
    assert {LOAD: 1, MUL: 1, ADD: 1} == acts(state, LATEST)  # still the longest: 3 acts over 2
    fenced, _ = run(FIRST, rules=Rules(RULES.cost, fenced=True))
    meet_barrier("local", Rules(RULES.cost, fenced=True), fenced)
    assert {LOAD: 1, MUL: 1, ADD: 1, BARRIER: 1} == acts(fenced, FENCE)


def test_an_access_waits_for_the_barrier_before_it() -> None:
    state, arcs = run(FIRST)
    meet_barrier("local", RULES, state)
    again = Step("again", (Reading("d", (), (LOAD,)),), (Writing("e", (), "private"),), ((LOAD, 1),))
    execute(again, Position(), RULES, state, arcs)
    (value,) = state.read("e", ())
    assert {(LOAD, ()): 2, (BARRIER, ()): 1} == dict(value.path.terms)


def test_an_arc_names_the_outermost_loop_between_writer_and_reader() -> None:
    state: State = State()
    arcs: Arcs = {}
    outer = Position().iteration("j", (True, 0), 1)
    carry = Step("carry", (Reading("s", (), (ADD,)),), (Writing("s", (), "private"),), ((ADD, 1),))
    execute(carry, outer.iteration("k", (True, 0), 1), RULES, state, arcs)
    state.age(["s"], 3)  # an iteration of k, the second loop, has ended
    execute(carry, outer.iteration("k", (True, 1), 1), RULES, state, arcs)
    state.age(["s"], 2)  # k has ended
    state.age(["s"], 1)  # an iteration of j has ended
    execute(carry, Position().iteration("j", (True, 1), 1).iteration("k", (True, 0), 1), RULES, state, arcs)
    assert ["k", "j"] == [arc.carried for arc in arcs.values()]
    (value,) = state.read("s", ())
    assert 3 == value.path.cost
