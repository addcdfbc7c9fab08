"""What the execution of one statement or barrier does to the state of a walk."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from perfmodel.counts.flow.paths import START, Offset, Path, Stamp, Term, Value, bound, has_names, longer
from perfmodel.counts.flow.state import ACCESSED, FENCE, LATEST, State
from perfmodel.counts.program.steps import SHARED, Act, Cell, Reading, Step, Writing

KEPT = 20_000  # longer paths that a walk remembers


class Tail(NamedTuple):
    """Acts at the end of a path, and their cost."""

    terms: tuple[tuple[Term, int], ...]
    cost: float


class Operand(NamedTuple):
    """A value that a statement needs: the acts after it, its load from memory, whether its cell depends on inames."""

    variable: str
    cell: Cell
    tail: Tail
    load: Tail | None
    named: bool


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
    _operands: dict[int, tuple[Step, list[Operand]]] = field(default_factory=dict)  # by the identity of the step
    _longer: dict[tuple[int, int], tuple[Path, Path]] = field(default_factory=dict)  # by those of a path and a tail

    def extended(self, path: Path, acts: tuple[Act, ...]) -> Path:
        """Return a path with acts at its end."""
        return self.plus(path, self.tail(acts))

    def plus(self, path: Path, tail: Tail) -> Path:
        """Return a path with one of the tails at its end; the same one where both are the same as before."""
        key = (id(path), id(tail))
        if key not in self._longer:
            if len(self._longer) >= KEPT:
                self._longer.clear()
            self._longer[key] = (path, path.plus(*tail))  # that the path lives on keeps its identity
        return self._longer[key][1]

    def tail(self, acts: tuple[Act, ...]) -> Tail:
        """Return acts as the end of a path."""
        if acts not in self._tails:
            terms = tuple([((act, ()), amount) for act, amount in Counter(acts).items()])
            self._tails[acts] = Tail(terms, sum(map(self.cost, acts)))
        return self._tails[acts]

    def operands(self, step: Step) -> list[Operand]:
        """Return the values that a statement needs, with the costs of the acts after them.

        A reading is left out where an earlier one of the same cell takes as long: the first of two decides.
        """
        if id(step) not in self._operands:
            found: list[Operand] = []
            most: dict[tuple[str, Cell, Tail | None], float] = {}
            for reading in step.readings:
                tail, load = self.tail(reading.path), self.tail(reading.path[:1]) if _is_load(reading) else None
                key = (reading.variable, reading.cell, load)
                if key not in most or tail.cost > most[key]:
                    most[key] = tail.cost
                    found.append(Operand(reading.variable, reading.cell, tail, load, has_names(reading.cell)))
            self._operands[id(step)] = (step, found)
        return self._operands[id(step)][1]


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
    for variable, cell, tail, load, named in rules.operands(step):
        path = START
        if variable in state.cells:
            path = state.longest(variable, at.bound(cell) if named else cell)
        if waits or load:
            path = longer(fence, path)
        if load and (ACCESSED not in state.paths or path.cost + load.cost > state.paths[ACCESSED].cost):
            state.reach(ACCESSED, rules.plus(path, load))
        if path.cost + tail.cost > start.cost + end.cost:
            start, end = path, tail
    if arcs is not None:
        for reading in step.readings:
            _note_arcs(step, reading, state.read(reading.variable, at.bound(reading.cell)), at, arcs)
    result = rules.plus(start, end)
    state.reach(LATEST, result)
    for writing in step.writings:
        _write(step, writing, result, at, rules, state, {} if arcs is None else {step.name: at.stamp})


def meet_barrier(scope: str, rules: Rules, state: State) -> None:
    """Execute a barrier: it waits for the accesses to memory before it, or for everything."""
    before = state.path(LATEST) if rules.fenced else longer(state.path(FENCE), state.path(ACCESSED))
    after = rules.extended(before, ((scope, "barrier"),))
    state.set(FENCE, after)
    state.set(ACCESSED, after)
    state.reach(LATEST, after)


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


def _carried(source: Stamp, target: Stamp) -> str:
    """Return the outermost loop, among those around both, whose iteration differs."""
    for (loop, then), (same, now) in zip(source, target, strict=False):
        if loop != same:
            return ""
        if then != now:
            return loop
    return ""
