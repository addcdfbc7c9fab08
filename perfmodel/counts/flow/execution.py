"""What the execution of one statement or barrier does to the state of a walk."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from perfmodel.counts.flow.paths import START, Offset, Path, Stamp, Term, Value, bound, longer
from perfmodel.counts.flow.state import ACCESSED, FENCE, LATEST, WORK, State
from perfmodel.counts.program.steps import SHARED, Act, Cell, Reading, Step, Writing


class Tail(NamedTuple):
    """Acts at the end of a path, and their cost."""

    terms: tuple[tuple[Term, int], ...]
    cost: float


class Statement(NamedTuple):
    """A statement, its readings, each with the acts after it and with its load from memory, and all its acts."""

    step: Step
    readings: tuple[tuple[Reading, Tail, Tail | None], ...]
    work: Tail


@dataclass(frozen=True)
class Rules:
    """What a walk is to measure.

    Attributes
    ----------
    cost : callable
        The cost of an act.
    fenced : bool
        Whether a barrier holds back everything; else it holds back only accesses to memory.
    in_order : bool
        Whether each iteration of a loop that is not unrolled waits for the one before.
    """

    cost: Callable[[Act], float]
    fenced: bool = False
    in_order: bool = False
    _tails: dict[tuple[Act, ...], Tail] = field(default_factory=dict)
    _statements: dict[int, Statement] = field(default_factory=dict)  # by the identity of the step, which it holds

    def extended(self, path: Path, acts: tuple[Act, ...]) -> Path:
        """Return a path with acts at its end."""
        return path.plus(*self.tail(acts))

    def tail(self, acts: tuple[Act, ...]) -> Tail:
        """Return acts as the end of a path."""
        if acts not in self._tails:
            terms = tuple([((act, ()), amount) for act, amount in Counter(acts).items()])
            self._tails[acts] = Tail(terms, sum(map(self.cost, acts)))
        return self._tails[acts]

    def statement(self, step: Step) -> Statement:
        """Return a statement with what its acts cost."""
        if id(step) not in self._statements:
            self._statements[id(step)] = Statement(
                step, tuple(
                    (reading, self.tail(reading.path), self.tail(reading.path[:1]) if _is_load(reading) else None)
                    for reading in step.readings
                ), _work(step.acts),
            )
        return self._statements[id(step)]


@dataclass(frozen=True)
class Position:
    """Where in the loops a walk is.

    Attributes
    ----------
    stamp : Stamp
        The iteration of each open loop, outermost first.
    offsets : dict of str to Offset
        For each open loop, its value in this iteration.
    runs : int
        How often the present body is followed.
    launched : bool
        Whether it is inside a launch.
    """

    stamp: Stamp = ()
    offsets: dict[str, Offset] = field(default_factory=dict)
    runs: int = 1
    launched: bool = False
    _bound: dict[Cell, Cell] = field(default_factory=dict)

    def bound(self, cell: Cell) -> Cell:
        """Return a cell at this iteration of the open loops."""
        if cell not in self._bound:
            self._bound[cell] = bound(cell, self.offsets)
        return self._bound[cell]

    def iteration(self, loop: str, number: int, offset: Offset, runs: int) -> Position:
        """Return the position in one iteration of a loop whose body is followed ``runs`` times in all."""
        offsets = {**self.offsets, loop: offset}
        return Position((*self.stamp, (loop, number)), offsets, runs, self.launched)


@dataclass(frozen=True)
class Arc:
    """A value that one statement stores and another, or a later run of the same, reads.

    Attributes
    ----------
    source, target : str
        The statements' identifiers.
    variable : str
        What is stored.
    carried : str
        The outermost loop whose iteration differs between the two, or "".
    path : tuple of Act
        From the value to the target's result.
    """

    source: str
    target: str
    variable: str
    carried: str
    path: tuple[Act, ...]


NO_ACTS = Tail((), 0.0)
Arcs = dict[tuple[str, str, str, str], Arc]  # by source, target, variable and loop


def execute(step: Step, at: Position, rules: Rules, state: State, arcs: Arcs | None) -> None:
    """Execute a statement: its result is there when the last value that it needs has arrived.

    Where ``arcs`` is None, no value's origin is followed.
    """
    fence = state.path(FENCE)
    waits = rules.fenced or rules.in_order
    start, end = fence if waits else START, NO_ACTS
    statement = rules.statement(step)
    for reading, tail, load in statement.readings:
        cell = at.bound(reading.cell)
        path = state.longest(reading.variable, cell)
        if waits or load:
            path = longer(fence, path)
        if arcs is not None:
            _note_arcs(step, reading, state.read(reading.variable, cell), at, arcs)
        if load and (path.cost + load.cost > state.path(ACCESSED).cost or ACCESSED not in state.cells):
            state.reach(ACCESSED, path.plus(*load))
        if path.cost + tail.cost > start.cost + end.cost:
            start, end = path, tail
    result = start.plus(*end)
    state.reach(LATEST, result)
    for writing in step.writings:
        _write(step, writing, result, at, rules, state, {} if arcs is None else {step.name: at.stamp})
    state.set(WORK, state.path(WORK).plus(*statement.work))


def meet_barrier(scope: str, rules: Rules, state: State) -> None:
    """Execute a barrier: it waits for the accesses to memory before it, or for everything."""
    before = state.path(LATEST) if rules.fenced else longer(state.path(FENCE), state.path(ACCESSED))
    after = rules.extended(before, ((scope, "barrier"),))
    state.set(FENCE, after)
    state.set(ACCESSED, after)
    state.reach(LATEST, after)
    state.set(WORK, state.path(WORK).plus(*_work((((scope, "barrier"), 1),))))


def _is_load(reading: Reading) -> bool:
    return bool(reading.path) and reading.path[0][0] in SHARED


def _note_arcs(step: Step, reading: Reading, values: list[Value], at: Position, arcs: Arcs) -> None:
    """Note from which statements a value that is read may come."""
    for value in values:
        for source, stamp in value.sources.items():
            key = (source, step.name, reading.variable, _carried(stamp, at.stamp))
            if key not in arcs or len(arcs[key].path) < len(reading.path):
                arcs[key] = Arc(*key, reading.path)


def _write(
    step: Step, writing: Writing, path: Path, at: Position, rules: Rules, state: State, sources: Mapping[str, Stamp]
) -> None:
    """Store a result."""
    if writing.space in SHARED:
        path = rules.extended(longer(state.path(FENCE), path), ((writing.space, "store"),))
        state.reach(ACCESSED, path)
        state.reach(LATEST, path)
    state.write(writing.variable, at.bound(writing.cell), Value(path, sources), not step.guarded)


def _work(acts: tuple[tuple[Act, int], ...]) -> Tail:
    """Return acts as what a statement adds to all that the work-item does."""
    return Tail(tuple([((act, ()), amount) for act, amount in acts]), 0.0)


def _carried(source: Stamp, target: Stamp) -> str:
    """Return the outermost loop, among those around both, whose iteration differs."""
    for (loop, then), (same, now) in zip(source, target, strict=False):
        if loop != same:
            return ""
        if then != now:
            return loop
    return ""
