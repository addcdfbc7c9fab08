"""Walks through the schedule of one work-item and keeps the longest dependence path to every value.

If a loop has few constant trips, the walk executes every iteration. Otherwise it executes the first few iterations,
after which each further iteration adds the same operations. The walk multiplies the operations that the last executed
iteration added to each path by the number of remaining trips. For large kernels the number of executed iterations is
smaller (:data:`~perfmodel.counts.flow.trips.EFFORTS`).

The *effect* of a loop body is the change of the state by the body, and is kept for later iterations. To find the
effect, the walk executes the body once with a :class:`~perfmodel.counts.flow.paths.Prefix` in place of each path. Every
path after the body is then a prefix and the operations that the body appends. The effect is valid for an iteration if
two conditions hold: the iteration finds the same cells, and its prefixes lead to the same choices of longest paths.
Without kept effects, a walk through nested loops would execute each body once for every iteration of all loops around
it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from perfmodel.counts.flow import execution
from perfmodel.counts.flow.execution import LATEST, Arcs, Cells, CellValue, Position, Rules, Snapshot, State
from perfmodel.counts.flow.paths import START, Choices, Path, Prefix, Term, UnknownPrefixError, costlier
from perfmodel.counts.flow.trips import EFFORTS, Effort, Trips, iterations
from perfmodel.counts.program import program
from perfmodel.counts.program.program import SHARED, Dataflow

WORTH_KEEPING = 8  # fewest statements of a body whose effect is kept; a smaller body is faster to execute
TRIED = 6000  # executions after which a walk estimates how many it needs in all
EARLY, UNKEPT = 2000, 0.95  # the same if kept effects replaced no more than the rest of this share
MOST_EFFECTS = 8  # of a body with the same cells before it; beyond this limit the body is executed


class LongWalkError(Exception):
    """A walk would execute too many statements: this share of the planned ones, as kept effects replace the others."""

    def __init__(self, share: float) -> None:
        super().__init__()
        self.share = share


#: A loop, a variable, and what one iteration of the loop adds to the path to a cell of the variable.
Growth = tuple[str, str, frozenset[tuple[Term, int]]]


@dataclass(frozen=True)
class Body:
    """The body of a loop."""

    executions: int  # statements that the walk executes in one iteration
    stored: tuple[str, ...]  # variables that its statements store to
    carried: tuple[str, ...]  # those that the loop may carry from iteration to iteration: it stores and reads them
    changed: tuple[str, ...]  # variables that change: ``stored``, and shared ones at barriers
    touched: tuple[str, ...]  # these and those that it reads
    inames: tuple[str, ...]  # the inames on which indices of these variables depend


@dataclass(eq=False)
class Walk:
    """A walk and its results. The keys of caches are the ``id`` of loops, which the program keeps alive."""

    dataflow: Dataflow
    trips: Trips
    rules: Rules
    state: State = field(default_factory=State)
    arcs: Arcs | None = None  # dependences between statements; None if neither these nor growths are wanted
    growths: dict[Growth, int] = field(default_factory=dict)  # what loops carry, and in how many cells
    effort: Effort = EFFORTS[0]
    _most_share: float = math.inf  # of the planned executions of statements
    _executed: int = 0
    _covered: int = 0  # planned executions that were done, or replaced by a kept effect
    _bodies: dict[int, Body] = field(default_factory=dict)
    _effects: dict[Hashable, list[Effect | None]] = field(default_factory=dict)

    def planned(self, nodes: tuple[program.Node, ...], runs: int = 1) -> int:
        """Return how many statements a walk executes in ``runs`` executions of some nodes, without kept effects."""
        executions = 0
        for node in nodes:
            if isinstance(node, program.Run):
                executions += node.instruction in self.dataflow.by_name
            elif isinstance(node, program.Loop):
                unrolled = node.iname in self.dataflow.unrolled
                _, number = iterations(self.trips.span(node.iname), runs, unrolled, self.effort)
                executions += number * self.planned(node.body, runs * number)
            elif isinstance(node, program.DeviceKernel):
                executions += self.planned(node.body, runs)
        return executions

    def whole(self, schedule: tuple[program.Node, ...], most: float) -> None:
        """Execute a schedule; raise LongWalkError if more than `most` statements would be executed."""
        self._most_share = most / max(self.planned(schedule), 1)
        self.block(schedule, Position())

    def _execute(self, step: program.Step, at: Position) -> None:
        self._executed += 1
        self._covered += 1
        share = self._executed / self._covered
        tried = EARLY if share > UNKEPT else TRIED
        if self._executed >= tried and share > self._most_share:
            raise LongWalkError(share)
        execution.execute(step, at, self.rules, self.state, self.arcs)

    def block(self, nodes: tuple[program.Node, ...], at: Position) -> None:
        for node in nodes:
            if isinstance(node, program.Run):
                step = self.dataflow.by_name.get(node.instruction)
                if step is not None:
                    self._execute(step, at)
            elif isinstance(node, program.Wait):
                if at.launched:  # outside of launches the next launch waits anyway
                    execution.execute_barrier(node.scope, self.rules, self.state)
                    self._share_cells()
            elif isinstance(node, program.DeviceKernel):
                self.state.wait_for(self.state.path(LATEST))
                self.block(node.body, Position(at.loops, at.offsets, at.runs, launched=True))
                self._share_cells()
            else:
                self._loop(node, at)

    def _share_cells(self) -> None:
        # other work-items may read what was stored: a cell may be any cell that another work-item stored
        self.state.forget_names(self._shared, frozenset(self.dataflow.parallel))

    @cached_property
    def _shared(self) -> frozenset[str]:
        writes = (writing for step in self.dataflow.steps for writing in step.writes)
        return frozenset(writing.variable for writing in writes if writing.space in SHARED)

    def _loop(self, node: program.Loop, at: Position) -> None:
        span, unrolled = self.trips.span(node.iname), node.iname in self.dataflow.unrolled
        short, number = iterations(span, at.runs, unrolled, self.effort)
        start, step = (0, 1) if span is None else (span.start if short else 0, span.step)
        body = self._body(node, at.runs * number, at.launched)
        stored, names = (body.carried, frozenset[str]()) if short else (body.stored, frozenset({node.iname}))
        before: Snapshot = {}
        paths: dict[str, Path] = {}
        for k in range(number):
            if k == number - 1 and (self.arcs is not None or not short):
                before, paths = self.state.snapshot(stored, names), dict(self.state.paths)
            self._order_iterations(unrolled and short)
            self._iteration(node, body, at.iteration(node.iname, (short, start + k * step), at.runs * number), k)
        after = {} if short and self.arcs is None else self.state.snapshot(stored, names)
        if number > 1 and self.arcs is not None:
            self._record_growth(node, body, before, after)
        if not short:
            self._prolong_paths(node.iname, before, after, paths)
        if self.arcs is not None:
            self.state.cap_store_times(body.stored, 2 * len(at.loops))
        self._order_iterations(unrolled)

    def _prolong_paths(self, loop: str, before: Snapshot, after: Snapshot, paths: Mapping[str, Path]) -> None:
        """Add the remaining iterations of a loop to all paths. ``before`` and ``paths`` are from one iteration ago."""
        for name, path in self.state.paths.items():
            self.state.paths[name] = self._prolonged_path(loop, path, paths.get(name, path))
        for variable, cells in after.items():
            earlier = before.get(variable, {})
            for cell, value in cells.items():
                path = self._prolonged_path(loop, value.path, earlier.get(cell, value).path)
                if path is not value.path:
                    cells[cell] = value._replace(path=path)
            self.state.cells[variable] = cells

    def _iteration(self, node: program.Loop, body: Body, at: Position, k: int) -> None:
        if k and self.arcs is not None:
            self.state.cap_store_times(body.stored, 2 * len(at.loops) - 1)
        if body.executions < WORTH_KEEPING:
            self.block(node.body, at)
            return
        before, paths = _cache_key(self.state, body)
        key = (id(node), tuple([at.offsets.get(name) for name in body.inames]), before)
        effects = self._effects.setdefault(key, [])
        effect = next((effect for effect in effects if effect is not None and effect.holds(paths)), None)
        if effect is not None:
            self._covered += body.executions
        elif len(effects) < MOST_EFFECTS:
            effect = self._effect(node, at, body, paths)
            effects.append(effect)
        if effect is None:
            self.block(node.body, at)
        else:
            effect.apply(self.state, paths)

    def _effect(self, node: program.Loop, at: Position, body: Body, paths: list[Path]) -> Effect | None:
        """Return the effect of a body on states with such paths, or None if the effect depends on the prefixes."""
        state = self.state
        self.state, choices = _with_prefixes(state, body, paths)
        try:
            self.block(node.body, at)
            cells = {name: self.state.cells[name] for name in body.changed if name in self.state.cells}
            return Effect(cells, self.state.paths, choices)
        except UnknownPrefixError:
            return None
        finally:
            self.state = state

    def _body(self, node: program.Loop, runs: int, launched: bool) -> Body:
        if id(node) in self._bodies:
            return self._bodies[id(node)]
        names = (name for name in program.instructions_in(node) if name in self.dataflow.by_name)
        steps = [self.dataflow.by_name[name] for name in names]
        stored = tuple(dict.fromkeys(writing.variable for step in steps for writing in step.writes))
        read = {reading.variable for step in steps for reading in step.reads}
        changed = {*stored, *(self._shared if program.has_barrier(node) or not launched else ())}
        cells = [(writing.variable, writing.cell) for step in steps for writing in step.writes]
        cells += [(reading.variable, reading.cell) for step in steps for reading in step.reads]
        touched = changed | {variable for variable, _ in cells if variable in self._written}
        indices = (index for variable, cell in cells if variable in touched for index in cell if index is not None)
        inames = {name for index in indices for name, _ in index[1]}
        body = self._bodies[id(node)] = Body(
            self.planned(node.body, runs), stored, tuple(name for name in stored if name in read),
            tuple(sorted(changed)), tuple(sorted(touched)), tuple(sorted(inames)),
        )  # fmt: skip
        return body

    @cached_property
    def _written(self) -> frozenset[str]:
        return frozenset(writing.variable for step in self.dataflow.steps for writing in step.writes)

    def _order_iterations(self, unrolled: bool) -> None:
        if self.rules.in_order and not unrolled:
            self.state.wait_for(self.state.path(LATEST))

    def _prolonged_path(self, loop: str, path: Path, earlier: Path) -> Path:
        """Return a path after all iterations of a loop. ``earlier`` is the path one iteration before."""
        growth = path.since(earlier)
        if not growth:
            return path
        added = [((operation, nest), -self.effort.followed * amount) for (operation, nest), amount in growth.items()]
        added += [((operation, (loop, *nest)), amount) for (operation, nest), amount in growth.items()]
        costs = [amount * self.rules.cost(operation) * self.trips.value(nest) for (operation, nest), amount in added]
        return path.plus(added, sum(costs))

    def _record_growth(self, loop: program.Loop, body: Body, before: Snapshot, after: Snapshot) -> None:
        """Record the paths of carried variables that the last iteration made longer, and the number of their cells."""
        cells_grown = Counter[Growth]()
        for variable in body.carried:
            for cell, value in after.get(variable, {}).items():
                earlier = before.get(variable, {}).get(cell)
                grown = {} if earlier is None else value.path.since(earlier.path)
                if grown:
                    cells_grown[loop.iname, variable, frozenset(grown.items())] += 1
        for growth, number in cells_grown.items():
            self.growths[growth] = max(number, self.growths.get(growth, 0))


def _cache_key(state: State, body: Body) -> tuple[Hashable, list[Path]]:
    """Return the state before a body with numbers in place of paths, and these paths."""
    paths: list[Path] = []
    numbers = {id(START): -1}

    def number(path: Path) -> int:
        if id(path) not in numbers:
            numbers[id(path)] = len(paths)
            paths.append(path)
        return numbers[id(path)]

    cells = [
        tuple([(cell, number(v.path), *v.sources.items()) for cell, v in state.cells.get(name, {}).items()])
        for name in body.touched
    ]
    return (*cells, *((name, number(path)) for name, path in state.paths.items())), paths


def _with_prefixes(state: State, body: Body, paths: Sequence[Path]) -> tuple[State, Choices]:
    """Return the state before a body, with a prefix for each path, and a record of choices between prefixes."""
    choices = Choices()
    prefixes = {
        id(path): Path({}, path.cost, Prefix(k, path.all_terms, path.cost, choices)) for k, path in enumerate(paths)
    }
    prefixes[id(START)] = START
    result = State(paths={name: prefixes[id(path)] for name, path in state.paths.items()})
    for name in body.touched:
        if name in state.cells:
            cells = state.cells[name].items()
            result.cells[name] = {cell: CellValue(prefixes[id(value.path)], *value[1:]) for cell, value in cells}
    return result, choices


@dataclass(frozen=True)
class Effect:
    """The state after a body. The paths in this state start with prefixes."""

    cells: Mapping[str, Cells]
    paths: Mapping[str, Path]
    choices: Choices

    def holds(self, paths: Sequence[Path]) -> bool:
        """Return whether a walk that has these paths as prefixes makes the same choices."""
        costs = [*[path.cost for path in paths], 0]
        for (chosen, other, strict), margin in self.choices.margins.items():
            difference = costs[chosen] - costs[other]
            if difference < margin or (strict and difference == margin):
                return False
        kept = self.choices.kept.items()
        return all((paths[k].amount(term) + amount != 0) == present for (k, term, amount), present in kept)

    def apply(self, state: State, paths: Sequence[Path]) -> None:
        """Change a state as the body does. The prefixes are these paths."""
        self._record_choices([*paths, START])
        made: dict[int, Path] = {}

        def path_of(path: Path) -> Path:
            if path.prefix is None:
                return path
            if id(path) not in made:
                before, cost = paths[path.prefix.number], path.cost - path.prefix.cost
                made[id(path)] = before.plus(path.terms.items(), cost) if path.terms else before
            return made[id(path)]

        for name, cells in self.cells.items():
            state.cells[name] = {cell: CellValue(path_of(value.path), *value[1:]) for cell, value in cells.items()}
        state.paths.update({name: path_of(path) for name, path in self.paths.items()})

    def _record_choices(self, paths: Sequence[Path]) -> None:
        """Record the choices again in the enclosing body if these paths have prefixes in that body."""
        for (chosen, other, strict), margin in self.choices.margins.items():
            if paths[chosen].prefix is not paths[other].prefix:
                if strict:
                    costlier(paths[chosen], paths[other], 0, margin)
                else:
                    costlier(paths[other], paths[chosen], margin)
        for k, term, amount in self.choices.kept:
            path = paths[k]
            if path.prefix is not None:
                path.prefix.contains(term, path.terms.get(term, 0) + amount)
