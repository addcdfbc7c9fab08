"""What the execution of one statement or barrier does to the state of a walk."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from perfmodel.counts.flow.paths import START, Offset, Path, Stamp, Value, bound, longer
from perfmodel.counts.flow.state import ACCESSED, FENCE, LATEST, WORK, State
from perfmodel.counts.program.steps import SHARED, Act, Reading, Step, Writing


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

    def extended(self, path: Path, acts: tuple[Act, ...]) -> Path:
        """Return a path with acts at its end."""
        return path.plus([((act, ()), 1) for act in acts], sum(map(self.cost, acts)))


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

    def iteration(self, loop: str, number: int, offset: Offset, runs: int) -> Position:
        """Return the position in one iteration of a loop whose body is followed ``runs`` times in all."""
        offsets = {**self.offsets, loop: offset}
        return replace(self, stamp=(*self.stamp, (loop, number)), offsets=offsets, runs=runs)


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


Arcs = dict[tuple[str, str, str, str], Arc]  # by source, target, variable and loop


def execute(step: Step, at: Position, rules: Rules, state: State, arcs: Arcs) -> None:
    """Execute a statement: its result is there when the last value that it needs has arrived."""
    fence = state.path(FENCE)
    waits = rules.fenced or rules.in_order
    start, cost = (fence if waits else START), 0.0
    acts: tuple[Act, ...] = ()
    for reading in step.readings:
        path = _read(step, reading, at, state, arcs)
        is_load = bool(reading.path) and reading.path[0][0] in SHARED
        if waits or is_load:
            path = longer(fence, path)
        if is_load:
            state.reach(ACCESSED, rules.extended(path, reading.path[:1]))
        added = sum(map(rules.cost, reading.path))
        if path.cost + added > start.cost + cost:
            start, acts, cost = path, reading.path, added
    result = rules.extended(start, acts)
    state.reach(LATEST, result)
    for writing in step.writings:
        _write(step, writing, result, at, rules, state)
    _work(step.acts, state)


def meet_barrier(scope: str, rules: Rules, state: State) -> None:
    """Execute a barrier: it waits for the accesses to memory before it, or for everything."""
    before = state.path(LATEST) if rules.fenced else longer(state.path(FENCE), state.path(ACCESSED))
    after = rules.extended(before, ((scope, "barrier"),))
    state.set(FENCE, after)
    state.set(ACCESSED, after)
    state.reach(LATEST, after)
    _work((((scope, "barrier"), 1),), state)


def _read(step: Step, reading: Reading, at: Position, state: State, arcs: Arcs) -> Path:
    """Return the path to a value, and note from which statements it may come."""
    path = START
    for value in state.read(reading.variable, bound(reading.cell, at.offsets)):
        path = longer(path, value.path)
        for source, stamp in value.sources.items():
            key = (source, step.name, reading.variable, _carried(stamp, at.stamp))
            if key not in arcs or len(arcs[key].path) < len(reading.path):
                arcs[key] = Arc(*key, reading.path)
    return path


def _write(step: Step, writing: Writing, path: Path, at: Position, rules: Rules, state: State) -> None:
    """Store a result."""
    if writing.space in SHARED:
        path = rules.extended(longer(state.path(FENCE), path), ((writing.space, "store"),))
        state.reach(ACCESSED, path)
        state.reach(LATEST, path)
    value = Value(path, {step.name: at.stamp})
    state.write(writing.variable, bound(writing.cell, at.offsets), value, not step.guarded)


def _work(acts: tuple[tuple[Act, int], ...], state: State) -> None:
    """Add acts to all that the work-item does."""
    state.set(WORK, state.path(WORK).plus((((act, ()), amount) for act, amount in acts), 0.0))


def _carried(source: Stamp, target: Stamp) -> str:
    """Return the outermost loop, among those around both, whose iteration differs."""
    for (loop, then), (same, now) in zip(source, target, strict=False):
        if loop != same:
            return ""
        if then != now:
            return loop
    return ""
