"""The state of a walk after statements, barriers, stores and reads, by hand; every operation costs 1."""

from dataclasses import replace

from perfmodel.counts.flow.execution import LATEST, Arcs, CellValue, Position, Rules, State, execute
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
