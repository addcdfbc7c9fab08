"""Follows one work-item through its schedule and keeps the longest path to every value, or adds up all that it does.

A loop of few iterations is followed iteration by iteration. Of any other loop :data:`FOLLOWED` iterations are followed;
each of the rest is taken to add what the last of them added.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeGuard

from perfmodel.counts.flow import execution
from perfmodel.counts.flow.execution import KEPT, LATEST, Arcs, CellValue, Position, Rules, Snapshot, State
from perfmodel.counts.flow.paths import Cost, Path, Term, UnknownBeginError
from perfmodel.counts.flow.recall import Body, Recalled, outset, with_unknown_begins
from perfmodel.counts.flow.trips import Span, Trips
from perfmodel.counts.program.program import (
    SHARED,
    Dataflow,
    DeviceKernel,
    Loop,
    Node,
    Run,
    Wait,
    has_barrier,
    instructions_in,
)

FOLLOWED = 3  # iterations of a long loop; a recurrence over a greater distance is not found
WORTH_RECALLING = 8  # executions of statements in a body; fewer are soon followed
MOST_OUTCOMES = 8  # of a body that finds the same cells; beyond these it is followed
SHORT = 256  # runs of a body that are followed one by one where the trips are constant


def is_short(span: Span | None, runs: int, unrolled: bool) -> TypeGuard[Span]:
    """Whether every iteration of a loop is followed, where what is around it is followed ``runs`` times."""
    return span is not None and (unrolled or span.trips <= FOLLOWED or runs * span.trips <= SHORT)


@dataclass(frozen=True)
class Growth:
    """What one iteration of a loop adds to the path to a cell of a variable."""

    loop: str
    variable: str
    terms: frozenset[tuple[Term, int]]


@dataclass(eq=False)
class Walkthrough:
    """A walk and its results."""

    dataflow: Dataflow
    trips: Trips
    rules: Rules
    state: State = field(default_factory=State)  # what every variable holds, and the paths of the whole
    arcs: Arcs | None = None  # of data between statements; None where neither these nor growths are asked for
    growths: dict[Growth, int] = field(default_factory=dict)  # what loops carry, and in how many cells side by side
    _stored: dict[int, tuple[str, ...]] = field(default_factory=dict)  # by the identity of a loop
    _carried: dict[int, tuple[str, ...]] = field(default_factory=dict)
    _worth: dict[Term, Cost] = field(default_factory=dict)
    _bodies: dict[int, Body] = field(default_factory=dict)  # by the identity of a loop, too
    _outcomes: dict[Hashable, list[Recalled | None]] = field(default_factory=dict)
    _prolonged: dict[tuple[str, int, int], tuple[Path, Path, Path]] = field(default_factory=dict)

    def block(self, nodes: tuple[Node, ...], at: Position) -> None:
        """Follow siblings."""
        for node in nodes:
            if isinstance(node, Run):
                step = self.dataflow.by_name.get(node.instruction)
                if step is not None:
                    execution.execute(step, at, self.rules, self.state, self.arcs)
            elif isinstance(node, Wait):
                if at.launched:  # between launches the next launch waits by itself
                    execution.meet_barrier(node.scope, self.rules, self.state)
                    self.forget_lanes()
            elif isinstance(node, DeviceKernel):
                self.launch(node, at)
            else:
                self.loop(node, at)

    def launch(self, node: DeviceKernel, at: Position) -> None:
        """Follow a work-item of a launch, which waits for all that was executed before the launch."""
        self.state.hold(self.state.path(LATEST))
        self.block(node.body, Position(at.loops, at.offsets, at.runs, launched=True))
        self.forget_lanes()

    def forget_lanes(self) -> None:
        """Let other work-items read what was stored: a cell may be any cell that another work-item stored."""
        self.state.blur(self.shared, frozenset(self.dataflow.parallel))

    @cached_property
    def written(self) -> frozenset[str]:
        """The variables that are stored to; no other one has cells."""
        return frozenset(writing.variable for step in self.dataflow.steps for writing in step.writings)

    @cached_property
    def shared(self) -> frozenset[str]:
        """The variables in global and local memory that are stored to."""
        writings = (writing for step in self.dataflow.steps for writing in step.writings)
        return frozenset(writing.variable for writing in writings if writing.space in SHARED)

    # {{{ loops

    def stored(self, loop: Loop) -> tuple[str, ...]:
        """Return the variables that a loop may change: what its statements store.

        No other variable has a cell whose index depends on the loop, or a value that was stored in it.
        """
        if id(loop) not in self._stored:
            steps = (self.dataflow.by_name.get(identifier) for identifier in instructions_in(loop))
            writings = (writing for step in steps if step is not None for writing in step.writings)
            self._stored[id(loop)] = tuple(dict.fromkeys(writing.variable for writing in writings))
        return self._stored[id(loop)]

    def carried(self, loop: Loop) -> tuple[str, ...]:
        """Return the variables that a loop may carry from iteration to iteration: what it stores, it reads as well."""
        if id(loop) not in self._carried:
            steps = (self.dataflow.by_name.get(identifier) for identifier in instructions_in(loop))
            read = {reading.variable for step in steps if step is not None for reading in step.readings}
            self._carried[id(loop)] = tuple(name for name in self.stored(loop) if name in read)
        return self._carried[id(loop)]

    def loop(self, node: Loop, at: Position) -> None:
        """Follow a loop, all of it or the first iterations."""
        span = self.trips.span(node.iname)
        unrolled = node.iname in self.dataflow.unrolled
        if is_short(span, at.runs, unrolled):
            self.follow_all(node, span, at, unrolled)
        else:
            self.follow_some(node, 1 if span is None else span.step, at)
        if self.arcs is not None:
            self.state.age(self.stored(node), 2 * len(at.loops))
        self.hold_iteration(unrolled)

    def follow_all(self, node: Loop, span: Span, at: Position, unrolled: bool) -> None:
        """Follow every iteration of a loop."""
        before: Snapshot = {}
        for k in range(span.trips):
            if k == span.trips - 1 and self.arcs is not None:
                before = self.state.snapshot(self.carried(node))
            self.hold_iteration(unrolled)
            self.iteration(node, at.iteration(node.iname, (True, span.start + k * span.step), at.runs * span.trips), k)
        if span.trips > 1 and self.arcs is not None:
            self.note_growth(node, before, self.state.snapshot(self.carried(node)))

    def follow_some(self, node: Loop, step: int, at: Position) -> None:
        """Follow the first iterations of a loop and prolong its paths by the others."""
        names, stored = frozenset({node.iname}), self.stored(node)
        before: Snapshot = {}
        paths: dict[str, Path] = {}
        for k in range(FOLLOWED):
            if k == FOLLOWED - 1:
                before, paths = self.state.snapshot(stored, names), dict(self.state.paths)
            self.hold_iteration(unrolled=False)
            self.iteration(node, at.iteration(node.iname, (False, k * step), at.runs * FOLLOWED), k)
        after = self.state.snapshot(stored, names)
        if self.arcs is not None:
            self.note_growth(node, before, after)
        for name, path in self.state.paths.items():
            self.state.paths[name] = self.prolonged(node.iname, path, paths.get(name, path))
        for variable, cells in after.items():
            earlier = before.get(variable, {})
            for cell, value in cells.items():
                path = self.prolonged(node.iname, value.path, earlier.get(cell, value).path)
                if path is not value.path:
                    cells[cell] = CellValue(path, value.sources)
            self.state.replace(variable, cells)

    def iteration(self, node: Loop, at: Position, k: int) -> None:
        """Follow an iteration of a loop, or recall it from one that did alike."""
        if k and self.arcs is not None:
            self.state.age(self.stored(node), 2 * len(at.loops) - 1)
        body = self.body(node, at)
        if body.executions < WORTH_RECALLING:
            self.block(node.body, at)
            return
        found, paths = outset(self.state, body)
        key = (id(node), tuple([at.offsets.get(name) for name in body.inames]), found)
        outcomes = self._outcomes.setdefault(key, [])
        outcome = next((outcome for outcome in outcomes if outcome is not None and outcome.holds(paths)), None)
        if outcome is None and len(outcomes) < MOST_OUTCOMES:
            outcome = self.outcome(node, at, body, paths)
            outcomes.append(outcome)
        if outcome is None:
            self.block(node.body, at)
        else:
            outcome.apply(self.state, paths)

    def outcome(self, node: Loop, at: Position, body: Body, paths: list[Path]) -> Recalled | None:
        """Return what a body makes of states that hold such paths; None where that depends on how they begin."""
        state = self.state
        self.state, choices = with_unknown_begins(state, body, paths)
        try:
            self.block(node.body, at)
            return Recalled.of(self.state, body, choices)
        except UnknownBeginError:
            return None
        finally:
            self.state = state

    def body(self, node: Loop, at: Position) -> Body:
        """Return the body of a loop, whose iterations are at positions like this one."""
        if id(node) not in self._bodies:
            self._bodies[id(node)] = self._body(node, at)
        return self._bodies[id(node)]

    def _body(self, node: Loop, at: Position) -> Body:
        steps = [step for name in instructions_in(node) if (step := self.dataflow.by_name.get(name)) is not None]
        changed = {writing.variable for step in steps for writing in step.writings}
        changed |= self.shared if has_barrier(node) or not at.launched else set()
        cells = [(writing.variable, writing.cell) for step in steps for writing in step.writings]
        cells += [(reading.variable, reading.cell) for step in steps for reading in step.readings]
        touched = changed | {variable for variable, _ in cells if variable in self.written}
        indices = (index for variable, cell in cells if variable in touched for index in cell if index is not None)
        inames = {name for index in indices for name, _ in index[1]}
        executions = self._executions(node.body, at.runs)
        return Body(executions, tuple(sorted(touched)), tuple(sorted(changed)), tuple(sorted(inames)))

    def _executions(self, nodes: tuple[Node, ...], runs: int) -> int:
        """Return how many executions of statements are followed in siblings."""
        executions = 0
        for node in nodes:
            if isinstance(node, Run):
                executions += node.instruction in self.dataflow.by_name
            elif isinstance(node, Loop):
                span = self.trips.span(node.iname)
                followed = span.trips if is_short(span, runs, node.iname in self.dataflow.unrolled) else FOLLOWED
                executions += followed * self._executions(node.body, runs * followed)
        return executions

    def hold_iteration(self, unrolled: bool) -> None:
        """Let what follows wait for all before, where the rules order the iterations of a loop."""
        if self.rules.in_order and not unrolled:
            self.state.hold(self.state.path(LATEST))

    def prolonged(self, loop: str, path: Path, earlier: Path) -> Path:
        """Return a path at the end of a loop of which only some iterations were followed.

        It is the same one where the path, and what it was before the last iteration, are the same as before.
        """
        if path is earlier:
            return path
        key = (loop, id(path), id(earlier))
        if key not in self._prolonged:
            if len(self._prolonged) >= KEPT:
                self._prolonged.clear()
            self._prolonged[key] = (path, earlier, self._prolong(loop, path, earlier))
        return self._prolonged[key][2]

    def _prolong(self, loop: str, path: Path, earlier: Path) -> Path:
        growth = path.since(earlier)
        if not growth:
            return path
        added = [((act, nest), -FOLLOWED * amount) for (act, nest), amount in growth.items()]
        added += [((act, (loop, *nest)), amount) for (act, nest), amount in growth.items()]
        return path.plus(added, sum([amount * self.worth(term) for term, amount in added]))

    def worth(self, term: Term) -> Cost:
        """Return the cost of a term at large sizes."""
        if term not in self._worth:
            self._worth[term] = self.rules.cost(term[0]) * self.trips.value(term[1])
        return self._worth[term]

    def note_growth(self, loop: Loop, before: Snapshot, after: Snapshot) -> None:
        """Note which paths of carried variables the last iteration prolonged, and in how many cells."""
        cells_grown = Counter[Growth]()
        for variable in self.carried(loop):
            for cell, value in after.get(variable, {}).items():
                earlier = before.get(variable, {}).get(cell)
                grown = {} if earlier is None else value.path.since(earlier.path)
                if grown:
                    cells_grown[Growth(loop.iname, variable, frozenset(grown.items()))] += 1
        for growth, number in cells_grown.items():
            self.growths[growth] = max(number, self.growths.get(growth, 0))

    # }}}


Terms = dict[Term, int]


def work_of(dataflow: Dataflow, trips: Trips) -> Terms:
    """Return every act of a work-item, in the runs of the loops around it.

    Short loops of constant trips are multiplied out, as a walk follows them.
    """
    terms: Terms = {}
    _block(trips.program.schedule, terms, dataflow, trips, runs=1, launched=False)
    return terms


def _block(nodes: tuple[Node, ...], terms: Terms, dataflow: Dataflow, trips: Trips, runs: int, launched: bool) -> None:
    """Add what siblings do; their nest is followed ``runs`` times by a walk."""
    for node in nodes:
        if isinstance(node, Run):
            step = dataflow.by_name.get(node.instruction)
            for act, amount in () if step is None else step.acts:
                terms[act, ()] = terms.get((act, ()), 0) + amount
        elif isinstance(node, Wait):
            if launched:
                barrier = (node.scope, "barrier"), ()
                terms[barrier] = terms.get(barrier, 0) + 1
        elif isinstance(node, DeviceKernel):
            _block(node.body, terms, dataflow, trips, runs, launched=True)
        else:
            _loop(node, terms, dataflow, trips, runs, launched)


def _loop(node: Loop, terms: Terms, dataflow: Dataflow, trips: Trips, runs: int, launched: bool) -> None:
    """Add what a loop does: its body once, then that times the number of its trips, or as often as its nest runs."""
    before = dict(terms)
    span = trips.span(node.iname)
    times = span.trips if (short := is_short(span, runs, node.iname in dataflow.unrolled)) else FOLLOWED
    _block(node.body, terms, dataflow, trips, runs * times, launched)
    for (act, nest), amount in list(terms.items()):
        earlier = before.get((act, nest), 0)
        added = amount - earlier
        if added:
            terms[act, nest] = earlier + added * times if short else earlier
        if added and not short:
            terms[act, (node.iname, *nest)] = terms.get((act, (node.iname, *nest)), 0) + added
    for term in [term for term, amount in terms.items() if not amount]:
        del terms[term]


def before_access(dataflow: Dataflow, trips: Trips) -> Terms:
    """Return the acts of a work-item before its first access to global memory, summed over launches.

    A launch without such an access gives all of its acts. Of the statement that makes the access the acts count only if
    the access is a store, which is the last one: a compiler moves a load as far up as it can.
    """
    return _before_access(trips.program.schedule, dataflow, trips, launched=False)[0]


def _before_access(nodes: tuple[Node, ...], dataflow: Dataflow, trips: Trips, launched: bool) -> tuple[Terms, bool]:
    """Return what siblings do before the access, and whether one of them makes it."""
    terms: Terms = {}
    for node in nodes:
        found, added = False, dict[Term, int]()
        if isinstance(node, DeviceKernel):
            added = _before_access(node.body, dataflow, trips, launched=True)[0]
        elif isinstance(node, Loop) and not launched:
            inside = _before_access(node.body, dataflow, trips, launched=False)[0]
            added = {(act, (node.iname, *nest)): amount for (act, nest), amount in inside.items()}
        elif isinstance(node, Loop) and _accesses(node, dataflow):
            added, found = _before_access(node.body, dataflow, trips, launched=True)
        else:
            found = _accesses(node, dataflow)
            _block((node,), added, dataflow, trips, runs=1, launched=launched)
            if found:
                loads = (("global", "load"), ()) in added
                added = {} if loads else {term: n for term, n in added.items() if term[0] != ("global", "store")}
        for term, amount in added.items():
            terms[term] = terms.get(term, 0) + amount
        if found:
            return terms, True
    return terms, False


def _accesses(node: Node, dataflow: Dataflow) -> bool:
    """Whether a statement of a node accesses global memory."""
    steps = (dataflow.by_name.get(name) for name in instructions_in(node))
    return any(act[0] == "global" and act[1] != "barrier" for step in steps if step for act, _ in step.acts)
