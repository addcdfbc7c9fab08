"""The kept effect of a loop body equals that of executing it again."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from random import Random
from typing import Any

import pytest

from perfmodel.counts.flow import execution, walk as walk_module
from perfmodel.counts.flow.execution import Position, Rules
from perfmodel.counts.flow.trips import LoopNest, Span
from perfmodel.counts.flow.walk import Walk
from perfmodel.counts.program.program import (
    Cell,
    Dataflow,
    DeviceKernel,
    Loop,
    Node,
    OpKind,
    Read,
    Run,
    Step,
    Wait,
    Write,
)

OPERATIONS: tuple[OpKind, ...] = (("float32", "add"), ("float32", "mul"), ("float32", "exp"))
SPACES = {"g": "global", "t": "local", "p": "private", "q": "private"}
COSTS = {"add": 2, "mul": 3, "exp": 7, "load": 5, "store": 1, "barrier": 0}


@dataclass
class ByHand:
    """Trips that are given."""

    trips: Mapping[str, int]
    known: frozenset[str]

    def span(self, loop: str) -> Span | None:
        return Span(0, 1, self.trips[loop]) if loop in self.known else None

    def value(self, nest: LoopNest) -> int:
        return prod(self.trips[loop] for loop in nest)


class MadeUp:
    """A random program: loops in loops, barriers, and statements that read and store cells of four variables."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.loops: list[str] = []
        self.steps: list[Step] = []
        schedule = (DeviceKernel("made_up", self.block(())),)
        unrolled = tuple(loop for loop in self.loops if self.random.random() < 0.2)
        self.dataflow, self.schedule = Dataflow(tuple(self.steps), unrolled, ("lane",)), schedule
        trips = {loop: self.random.choice((2, 3, 5, 9, 30) if loop not in unrolled else (2, 4)) for loop in self.loops}
        known = frozenset(loop for loop in self.loops if loop in unrolled or self.random.random() < 0.7)
        self.trips = ByHand(trips, known)

    def block(self, around: LoopNest) -> tuple[Node, ...]:
        return tuple(self.node(around) for _ in range(self.random.randint(1, 3)))

    def node(self, around: LoopNest) -> Node:
        if len(around) < 3 and self.random.random() < (0.9 if not around else 0.4):
            loop = f"i{len(self.loops)}"
            self.loops.append(loop)
            return Loop(loop, self.block((*around, loop)))
        if self.random.random() < 0.15:
            return Wait("local")
        self.steps.append(self.step(around))
        return Run(self.steps[-1].name)

    def step(self, around: LoopNest) -> Step:
        reads = []
        for _ in range(self.random.randint(0, 3)):
            name = self.random.choice(list(SPACES))
            load: tuple[OpKind, ...] = () if SPACES[name] == "private" else ((SPACES[name], "load"),)
            path = (*load, *self.random.choices(OPERATIONS, k=self.random.randint(0, 2)))
            reads.append(Read(name, self.cell(name, around), path))
        name = self.random.choice(list(SPACES))
        writing = Write(name, self.cell(name, around), SPACES[name])
        return Step(f"s{len(self.steps)}", tuple(reads), (writing,), (), self.random.random() < 0.2)

    def cell(self, name: str, around: LoopNest) -> Cell:
        if name == "p":
            return ()
        kind = self.random.random()
        if kind < 0.1:
            return (None,)
        inames = self.random.sample((*around, "lane"), k=1) if kind < 0.6 else []
        return ((self.random.randint(0, 2), tuple((iname, self.random.choice((1, 2))) for iname in inames)),)

    def walked(self, **rules: bool) -> Walk:
        trips: Any = self.trips
        walk = Walk(self.dataflow, trips, Rules(lambda operation: COSTS[operation[1]], **rules), arcs={})
        walk.block(self.schedule, Position())
        return walk


def results(walk: Walk) -> tuple[Any, ...]:
    cells = {
        (name, cell): (dict(value.path.terms), value.path.cost, dict(value.sources))
        for name, cells in walk.state.cells.items() for cell, value in cells.items()
    }
    paths = {name: (dict(path.terms), path.cost) for name, path in walk.state.paths.items()}
    return cells, paths, walk.arcs, walk.growths


@pytest.mark.parametrize("rules", [{}, {"fenced": True}, {"fenced": True, "in_order": True}], ids=str)
def test_walks_with_and_without_kept_effects_agree(rules: dict[str, bool], monkeypatch: pytest.MonkeyPatch) -> None:
    kept = 0
    for seed in range(50):
        program = MadeUp(seed)
        monkeypatch.setattr(walk_module, "WORTH_KEEPING", 2)
        walk = program.walked(**rules)
        kept += sum(outcome is not None for outcomes in walk._effects.values() for outcome in outcomes)
        monkeypatch.setattr(walk_module, "WORTH_KEEPING", 10**9)
        assert results(program.walked(**rules)) == results(walk), f"seed {seed}"
    assert kept > 200


def test_iterations_that_fetch_anew_are_walked_a_few_times(monkeypatch: pytest.MonkeyPatch) -> None:
    # each iteration of k fetches two tiles, and 4 sums read them from registers: no new value follows from an old one
    total: Cell = ((0, (("r", 1),)),)
    steps = (
        *fetched("s", "p", (("global", "load"), OPERATIONS[2])), *fetched("t", "o", (("global", "load"),)),
        Step("add", (Read("q", total, (OPERATIONS[0],)), Read("p", REGISTER, (OPERATIONS[0],)),
                     Read("o", REGISTER, (OPERATIONS[0],))), (Write("q", total, "private"),), ()),
    )  # fmt: skip
    registers = [Loop("u", (Run(name),)) for name in ("read_s", "read_t", "add")]
    nest = Loop("k", (Wait("local"), Run("fetch_s"), Run("fetch_t"), Wait("local"), Loop("r", tuple(registers))))

    def executions(trips: int) -> int:
        hand: Any = ByHand({"k": trips, "r": 4, "u": 16}, frozenset("kru"))
        walk = Walk(Dataflow(steps, ("u",)), hand, Rules(lambda operation: COSTS[operation[1]]), arcs={})
        executions = followed(walk, nest, monkeypatch)
        first, additions = 5 + 7 + 1 + 5, 2 * 16 * trips
        assert {first + additions} == {value.path.cost for value in walk.state.cells["q"].values()}
        return executions

    assert 2 * (2 + 3 * 3 * 16) == executions(100) == executions(200)  # three iterations of r in two of k


REGISTER: Cell = ((0, (("u", 1),)),)


def fetched(tile: str, register: str, path: tuple[OpKind, ...]) -> tuple[Step, Step]:
    """Return the statements that fetch a tile of local memory, and that read it into a register."""
    return (
        Step(f"fetch_{tile}", (Read("a", (), path),), (Write(tile, (), "local"),), ()),
        Step(f"read_{tile}", (Read(tile, (), (("local", "load"),)),), (Write(register, REGISTER, "private"),), ()),
    )


def followed(walk: Walk, nest: Loop, monkeypatch: pytest.MonkeyPatch) -> int:
    """Walk through a launch of a nest, and return how many executions of statements are followed."""
    executed, executions = execution.execute, []

    def noted(step: Step, *arguments: Any) -> None:
        executions.append(step.name)
        executed(step, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(execution, "execute", noted)
        walk.block((DeviceKernel("nest", (nest,)),), Position())
    return len(executions)


@pytest.mark.parametrize("worth_keeping", [2, 10**9])
def test_a_loop_of_two_trips_is_followed_twice(worth_keeping: int, monkeypatch: pytest.MonkeyPatch) -> None:
    # each of 4 sums gets 36*2 additions; the innermost loop runs too often in all to be followed, were it longer
    monkeypatch.setattr(walk_module, "WORTH_KEEPING", worth_keeping)
    cell: Cell = ((0, (("r", 1),)),)
    add = Step("add", (Read("q", cell, (OPERATIONS[0],)),), (Write("q", cell, "private"),), ())
    nest = Loop("o", (Loop("r", (Loop("k", (Run("add"),)),)),))
    hand: Any = ByHand({"o": 36, "r": 4, "k": 2}, frozenset("ork"))
    walk = Walk(Dataflow((add,)), hand, Rules(lambda operation: COSTS[operation[1]]))
    walk.block((DeviceKernel("sums", (nest,)),), Position())
    expected = {((r, ()),): {(OPERATIONS[0], ()): 72} for r in range(4)}
    assert expected == {cell: dict(value.path.terms) for cell, value in walk.state.cells["q"].items()}
