"""Walks through the schedule of one work-item and keeps the longest dependence path to every value.

Input: a program's schedule and dataflow, trip counts of its loops, and :class:`Rules` (what waits, and what each
operation costs). Output: the final :class:`State`, and on request the dependences between statements and what loops
carry from iteration to iteration.

A loop of few constant trips is executed iteration by iteration. Of any other loop the walk executes the first
:data:`FOLLOWED` iterations and multiplies what the last of them added to each path by the remaining trips: after a few
iterations a loop whose iterations depend on the one before grows by the same operations each time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeGuard

from perfmodel.counts.flow import execution
from perfmodel.counts.flow.execution import KEPT, LATEST, Arcs, CellValue, Position, Rules, Snapshot, State
from perfmodel.counts.flow.memo import Body, Effect, cache_key, with_prefixes
from perfmodel.counts.flow.paths import Cost, Path, Term, UnknownPrefixError
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

FOLLOWED = 3  # executed iterations of a long loop; a recurrence over a greater distance is not found
WORTH_KEEPING = 8  # statements of a body from which on its effect is kept; a smaller one is executed faster
MOST_EFFECTS = 8  # of a body with the same cells before it; beyond these it is executed
SHORT = 256  # most executions of a body in loops of constant trips


def is_short(span: Span | None, runs: int, unrolled: bool) -> TypeGuard[Span]:
    """Return whether a walk executes every iteration of a loop, of whose surroundings there are ``runs`` executions."""
    return span is not None and (unrolled or span.trips <= FOLLOWED or runs * span.trips <= SHORT)


@dataclass(frozen=True)
class Growth:
    """What one iteration of a loop adds to the path to a cell of a variable."""

    loop: str
    variable: str
    terms: frozenset[tuple[Term, int]]


@dataclass(eq=False)
class Walk:
    """A walk and its results. Caches by ``id`` are of loops, which the program keeps alive."""

    dataflow: Dataflow
    trips: Trips
    rules: Rules
    state: State = field(default_factory=State)
    arcs: Arcs | None = None  # dependences between statements; None if neither these nor growths are wanted
    growths: dict[Growth, int] = field(default_factory=dict)  # what loops carry, and in how many cells
    _stored: dict[int, tuple[str, ...]] = field(default_factory=dict)
    _carried: dict[int, tuple[str, ...]] = field(default_factory=dict)
    _term_costs: dict[Term, Cost] = field(default_factory=dict)
    _bodies: dict[int, Body] = field(default_factory=dict)
    _effects: dict[Hashable, list[Effect | None]] = field(default_factory=dict)
    _prolonged: dict[tuple[str, int, int], tuple[Path, Path, Path]] = field(default_factory=dict)

    def block(self, nodes: tuple[Node, ...], at: Position) -> None:
        """Execute sibling nodes of the schedule."""
        for node in nodes:
            if isinstance(node, Run):
                step = self.dataflow.by_name.get(node.instruction)
                if step is not None:
                    execution.execute(step, at, self.rules, self.state, self.arcs)
            elif isinstance(node, Wait):
                if at.launched:  # outside of launches the next launch waits anyway
                    execution.execute_barrier(node.scope, self.rules, self.state)
                    self._share_cells()
            elif isinstance(node, DeviceKernel):
                self._launch(node, at)
            else:
                self._loop(node, at)

    def _launch(self, node: DeviceKernel, at: Position) -> None:
        self.state.wait_for(self.state.path(LATEST))
        self.block(node.body, Position(at.loops, at.offsets, at.runs, launched=True))
        self._share_cells()

    def _share_cells(self) -> None:
        # other work-items may read what was stored: a cell may be any cell that another work-item stored
        self.state.forget_names(self.shared, frozenset(self.dataflow.parallel))

    @cached_property
    def written(self) -> frozenset[str]:
        """The variables that statements store to; only these have cells."""
        return frozenset(writing.variable for step in self.dataflow.steps for writing in step.writings)

    @cached_property
    def shared(self) -> frozenset[str]:
        """The variables in global and local memory that statements store to."""
        writings = (writing for step in self.dataflow.steps for writing in step.writings)
        return frozenset(writing.variable for writing in writings if writing.space in SHARED)

    # {{{ loops

    def stored(self, loop: Loop) -> tuple[str, ...]:
        """Return the variables that statements in a loop store to."""
        if id(loop) not in self._stored:
            steps = (self.dataflow.by_name.get(identifier) for identifier in instructions_in(loop))
            writings = (writing for step in steps if step is not None for writing in step.writings)
            self._stored[id(loop)] = tuple(dict.fromkeys(writing.variable for writing in writings))
        return self._stored[id(loop)]

    def carried(self, loop: Loop) -> tuple[str, ...]:
        """Return the variables that a loop may carry from iteration to iteration: it stores and reads them."""
        if id(loop) not in self._carried:
            steps = (self.dataflow.by_name.get(identifier) for identifier in instructions_in(loop))
            read = {reading.variable for step in steps if step is not None for reading in step.readings}
            self._carried[id(loop)] = tuple(name for name in self.stored(loop) if name in read)
        return self._carried[id(loop)]

    def _loop(self, node: Loop, at: Position) -> None:
        span = self.trips.span(node.iname)
        unrolled = node.iname in self.dataflow.unrolled
        if is_short(span, at.runs, unrolled):
            self._all_iterations(node, span, at, unrolled)
        else:
            self._first_iterations(node, 1 if span is None else span.step, at)
        if self.arcs is not None:
            self.state.cap_store_times(self.stored(node), 2 * len(at.loops))
        self._order_iterations(unrolled)

    def _all_iterations(self, node: Loop, span: Span, at: Position, unrolled: bool) -> None:
        before: Snapshot = {}
        for k in range(span.trips):
            if k == span.trips - 1 and self.arcs is not None:
                before = self.state.snapshot(self.carried(node))
            self._order_iterations(unrolled)
            self._iteration(node, at.iteration(node.iname, (True, span.start + k * span.step), at.runs * span.trips), k)
        if span.trips > 1 and self.arcs is not None:
            self._record_growth(node, before, self.state.snapshot(self.carried(node)))

    def _first_iterations(self, node: Loop, step: int, at: Position) -> None:
        names, stored = frozenset({node.iname}), self.stored(node)
        before: Snapshot = {}
        paths: dict[str, Path] = {}
        for k in range(FOLLOWED):
            if k == FOLLOWED - 1:
                before, paths = self.state.snapshot(stored, names), dict(self.state.paths)
            self._order_iterations(unrolled=False)
            self._iteration(node, at.iteration(node.iname, (False, k * step), at.runs * FOLLOWED), k)
        after = self.state.snapshot(stored, names)
        if self.arcs is not None:
            self._record_growth(node, before, after)
        for name, path in self.state.paths.items():
            self.state.paths[name] = self.prolonged(node.iname, path, paths.get(name, path))
        for variable, cells in after.items():
            earlier = before.get(variable, {})
            for cell, value in cells.items():
                path = self.prolonged(node.iname, value.path, earlier.get(cell, value).path)
                if path is not value.path:
                    cells[cell] = CellValue(path, value.sources)
            self.state.replace(variable, cells)

    def _iteration(self, node: Loop, at: Position, k: int) -> None:
        """Execute an iteration of a loop, or apply the kept effect of an earlier one."""
        if k and self.arcs is not None:
            self.state.cap_store_times(self.stored(node), 2 * len(at.loops) - 1)
        body = self.body(node, at)
        if body.executions < WORTH_KEEPING:
            self.block(node.body, at)
            return
        before, paths = cache_key(self.state, body)
        key = (id(node), tuple([at.offsets.get(name) for name in body.inames]), before)
        effects = self._effects.setdefault(key, [])
        effect = next((effect for effect in effects if effect is not None and effect.holds(paths)), None)
        if effect is None and len(effects) < MOST_EFFECTS:
            effect = self._effect(node, at, body, paths)
            effects.append(effect)
        if effect is None:
            self.block(node.body, at)
        else:
            effect.apply(self.state, paths)

    def _effect(self, node: Loop, at: Position, body: Body, paths: list[Path]) -> Effect | None:
        """Return the effect of a body on states with such paths; None where it depends on the prefixes themselves."""
        state = self.state
        self.state, choices = with_prefixes(state, body, paths)
        try:
            self.block(node.body, at)
            return Effect.of(self.state, body, choices)
        except UnknownPrefixError:
            return None
        finally:
            self.state = state

    def body(self, node: Loop, at: Position) -> Body:
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
        executions = 0
        for node in nodes:
            if isinstance(node, Run):
                executions += node.instruction in self.dataflow.by_name
            elif isinstance(node, Loop):
                span = self.trips.span(node.iname)
                followed = span.trips if is_short(span, runs, node.iname in self.dataflow.unrolled) else FOLLOWED
                executions += followed * self._executions(node.body, runs * followed)
        return executions

    def _order_iterations(self, unrolled: bool) -> None:
        if self.rules.in_order and not unrolled:
            self.state.wait_for(self.state.path(LATEST))

    def prolonged(self, loop: str, path: Path, earlier: Path) -> Path:
        """Return a path after all iterations of a loop, from those after and before the last executed iteration.

        Equal arguments give the same object, so that caches by identity find it.
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
        added = [((operation, nest), -FOLLOWED * amount) for (operation, nest), amount in growth.items()]
        added += [((operation, (loop, *nest)), amount) for (operation, nest), amount in growth.items()]
        return path.plus(added, sum([amount * self._term_cost(term) for term, amount in added]))

    def _term_cost(self, term: Term) -> Cost:
        if term not in self._term_costs:
            self._term_costs[term] = self.rules.cost(term[0]) * self.trips.value(term[1])
        return self._term_costs[term]

    def _record_growth(self, loop: Loop, before: Snapshot, after: Snapshot) -> None:
        """Record which paths of carried variables the last iteration prolonged, and in how many cells."""
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
