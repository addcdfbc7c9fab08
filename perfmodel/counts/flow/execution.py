"""The state of a walk through the schedule, and how a statement or a barrier changes the state.

A *cell* is an array element, given by its indices. For each cell, the state has the longest dependence path to the
value of the cell. A statement reads cells and appends its operations to the costliest path of these cells. The result
is the new path of the cells that the statement writes.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache, reduce
from itertools import chain, islice
from types import MappingProxyType
from typing import NamedTuple

from perfmodel.counts.flow.paths import START, Cost, Path, Term, costlier, longer
from perfmodel.counts.program.program import SHARED, Cell, Index, OpKind, Read, Step, Write

Offset = tuple[bool, int]  # whether a loop's value is known; the value, or its distance from the first iteration walked
LATEST, ACCESSED, FENCE = "latest", "accessed", "fence"
KEPT = 20_000  # longer paths that a walk caches


class CellValue(NamedTuple):
    """The path to the value of a cell, and the time when each statement may have stored the value.

    A store in the current iteration of the ``d`` outermost open loops has the time ``2*d``. A store in an earlier
    iteration of the next loop has the time ``2*d + 1``. Larger times are later.
    """

    path: Path = START
    sources: Mapping[str, int] = MappingProxyType({})
    latest: int = -1  # the largest time

    def merged(self, second: "CellValue") -> "CellValue":
        """Return the value of a cell that holds either this value or ``second``."""
        sources = dict(self.sources)
        for name, time in second.sources.items():
            sources[name] = max(time, sources.get(name, time))
        return CellValue(longer(self.path, second.path), sources, max(self.latest, second.latest))

    def capped(self, latest: int) -> "CellValue":
        return CellValue(self.path, {name: min(time, latest) for name, time in self.sources.items()}, latest)


Cells = dict[Cell, CellValue]
Form = tuple[tuple[tuple[str, int], ...] | None, ...]


def may_be_equal(left: Cell, right: Cell) -> bool:
    """Return whether two cells of an array may be the same for one work-item: no index differs by a constant."""
    if len(left) == len(right):
        for a, b in zip(left, right, strict=True):
            if a is not None and b is not None and a[0] != b[0] and a[1] == b[1]:
                return False
    return True


def form_of(cell: Cell) -> Form:
    """Return the inames with their factors in each index of a cell. Cells of one form differ only by constants."""
    return tuple([None if index is None else index[1] for index in cell])


def at_iteration(cell: Cell, offsets: Mapping[str, Offset]) -> Cell:
    """Return a cell at one iteration of the open loops."""
    return tuple([index if index is None or not index[1] else _at_iteration(index, offsets) for index in cell])


def _at_iteration(index: tuple[int, tuple[tuple[str, int], ...]], offsets: Mapping[str, Offset]) -> Index:
    constant, left = index[0], []
    for name, factor in index[1]:
        known, value = offsets.get(name, (False, 0))
        constant += factor * value
        if not known:
            left.append((name, factor))
    return constant, tuple(left)


@lru_cache(maxsize=4096)
def without_names(cell: Cell, names: frozenset[str]) -> Cell:
    """Return a cell in which each index that depends on one of the names is unknown."""
    return tuple(None if index is None or any(name in names for name, _ in index[1]) else index for index in cell)


def _renamed(cells: Cells, names: frozenset[str]) -> Cells:
    """Return cells :func:`without_names`. Cells that get the same name are merged."""
    if not names or (len(cells) == 1 and () in cells):
        return dict(cells)
    result: Cells = {}
    for cell, value in cells.items():
        name = without_names(cell, names)
        result[name] = result[name].merged(value) if name in result else value
    return result


Snapshot = Mapping[str, Cells]


@dataclass
class State:
    """The cells of all variables, and three paths of the whole kernel.

    - ``paths[LATEST]`` is the longest path to any operation.
    - ``paths[ACCESSED]`` is the longest path to an access to memory.
    - ``paths[FENCE]`` is the path for which the next access waits.
    """

    cells: dict[str, Cells] = field(default_factory=dict)
    paths: dict[str, Path] = field(default_factory=dict)
    _forms: dict[str, tuple[Cells, int, set[Form]]] = field(default_factory=dict)  # of the first so many cells

    def path(self, name: str) -> Path:
        return self.paths.get(name, START)

    def raise_path(self, name: str, path: Path) -> None:
        """Replace one of the kernel's paths by ``path`` if ``path`` is longer."""
        self.paths[name] = longer(self.path(name), path)

    def wait_for(self, path: Path) -> None:
        """Make all following operations wait for a path."""
        for name in (FENCE, ACCESSED, LATEST):
            self.paths[name] = longer(path, self.path(name))

    def read(self, variable: str, cell: Cell) -> list[CellValue]:
        cells = self.cells.get(variable)
        if not cells:
            return []
        form, *others = self._forms_of(variable, cells)
        if not others and len(form) == len(cell):
            fitting = tuple([None if part is None else index for part, index in zip(form, cell, strict=True)])
            if form_of(fitting) == form:
                return [cells[fitting]] if fitting in cells else []
        return [value for stored, value in cells.items() if may_be_equal(cell, stored)]

    def _forms_of(self, variable: str, cells: Cells) -> set[Form]:
        known, number, forms = self._forms.get(variable, (cells, 0, set()))
        if known is not cells:
            number, forms = 0, set()
        if number < len(cells):
            forms.update(map(form_of, islice(cells, number, None)))
            self._forms[variable] = cells, len(cells), forms
        return forms

    def write(self, variable: str, cell: Cell, value: CellValue, certain: bool) -> None:
        """Store a value. If the cell or the store itself is uncertain, the old value may remain too."""
        cells = self.cells.setdefault(variable, {})
        if cell in cells and (None in cell or not certain):
            value = cells[cell].merged(value)
        cells[cell] = value

    def forget_names(self, variables: frozenset[str], names: frozenset[str]) -> None:
        """Make each index of some variables' cells unknown if the index depends on any of the inames ``names``."""
        for variable in self.cells.keys() & variables:
            self.cells[variable] = _renamed(self.cells[variable], names)

    def cap_store_times(self, variables: Iterable[str], latest: int) -> None:
        """Cap the store times of some variables, because a loop or one of its iterations ends."""
        for variable, cells in self._of(variables):
            late = [cell for cell, value in cells.items() if value.latest > latest]
            if late:
                self.cells[variable] = {**cells, **{cell: cells[cell].capped(latest) for cell in late}}

    def snapshot(self, variables: Iterable[str], names: frozenset[str] = frozenset()) -> Snapshot:
        """Return the current values of some variables. An index that depends on any of the names becomes unknown."""
        return {variable: _renamed(cells, names) for variable, cells in self._of(variables)}

    def _of(self, variables: Iterable[str]) -> list[tuple[str, Cells]]:
        return [(variable, self.cells[variable]) for variable in variables if variable in self.cells]


class Tail(NamedTuple):
    """Operations at the end of a path, and the cost of these operations."""

    terms: tuple[tuple[Term, int], ...]
    cost: Cost


class Operand(NamedTuple):
    """A value that a statement needs."""

    variable: str
    cell: Cell
    tail: Tail  # the operations between the value and the statement's result
    load: Tail | None  # its load from memory
    named: bool  # whether its cell depends on inames


@dataclass(frozen=True)
class Rules:
    """The conditions for which an operation waits, and the cost of each operation."""

    cost: Callable[[OpKind], Cost]
    fenced: bool = False  # whether all operations wait at a barrier; else only accesses to memory do
    in_order: bool = False  # whether each iteration of a loop that is not unrolled waits for the one before
    _tails: dict[tuple[OpKind, ...], Tail] = field(default_factory=dict)
    _operands: dict[int, tuple[Step, list[Operand]]] = field(default_factory=dict)  # by id(step)
    _longer: dict[tuple[int, int], tuple[Path, Path]] = field(default_factory=dict)  # by id(path) and id(tail)

    def plus(self, path: Path, tail: Tail) -> Path:
        """Return a path with a tail added at its end. Equal arguments give the same object."""
        key = (id(path), id(tail))
        if key not in self._longer:
            if len(self._longer) >= KEPT:
                self._longer.clear()
            self._longer[key] = (path, path.plus(*tail))  # the reference to the path keeps its id from being reused
        return self._longer[key][1]

    def tail(self, operations: tuple[OpKind, ...]) -> Tail:
        if operations not in self._tails:
            terms = tuple([((operation, ()), amount) for operation, amount in Counter(operations).items()])
            self._tails[operations] = Tail(terms, sum([self.cost(operation) for operation in operations]))
        return self._tails[operations]

    def operands(self, step: Step) -> list[Operand]:
        """Return the values that a statement needs, without repeated reads of a cell that cost no more."""
        if id(step) not in self._operands:
            operands: list[Operand] = []
            most: dict[tuple[str, Cell, Tail | None], Cost] = {}
            for reading in step.reads:
                is_load = bool(reading.path) and reading.path[0][0] in SHARED
                tail, load = self.tail(reading.path), self.tail(reading.path[:1]) if is_load else None
                key = (reading.variable, reading.cell, load)
                if key not in most or tail.cost > most[key]:
                    most[key] = tail.cost
                    named = any(index is not None and index[1] for index in reading.cell)
                    operands.append(Operand(reading.variable, reading.cell, tail, load, named))
            self._operands[id(step)] = (step, operands)
        return self._operands[id(step)][1]


@dataclass(frozen=True)
class Position:
    """The current iteration of each open loop in a walk."""

    loops: tuple[str, ...] = ()  # that are open, outermost first
    offsets: dict[str, Offset] = field(default_factory=dict)  # the value of each open loop in this iteration
    runs: int = 1  # how often the walk executes the current body
    launched: bool = False  # whether it is inside a launch

    def iteration(self, loop: str, offset: Offset, runs: int) -> "Position":
        """Return the position in one iteration of a loop. The loop's body is executed ``runs`` times in total."""
        return Position((*self.loops, loop), {**self.offsets, loop: offset}, runs, self.launched)

    def carrier(self, time: int) -> str:
        """Return the outermost loop that has started another iteration since a store time, or "" for none."""
        return self.loops[time // 2] if time % 2 else ""


@dataclass(frozen=True)
class Arc:
    """A dependence: statement ``target`` reads a value that statement ``source`` stores."""

    source: str
    target: str
    variable: str
    carried: str  # the outermost loop whose iteration differs between the two, or ""
    path: tuple[OpKind, ...]  # from the value to the target's result


NO_OPERATIONS = Tail((), 0)
Arcs = dict[tuple[str, str, str, str], Arc]  # by source, target, variable and loop


def execute(step: Step, at: Position, rules: Rules, state: State, arcs: Arcs | None) -> None:
    """Execute a statement. The result waits for the operand with the longest path. ``arcs`` collects dependences."""
    fence = state.path(FENCE)
    waits = rules.fenced or rules.in_order
    start, end = fence if waits else START, NO_OPERATIONS
    values: dict[tuple[str, Cell], list[CellValue]] = {}
    for variable, cell, tail, load, named in rules.operands(step):
        stored = values[variable, cell] = state.read(variable, at_iteration(cell, at.offsets) if named else cell)
        path = reduce(longer, [value.path for value in stored], START)
        if waits or load:
            path = longer(fence, path)
        if load and costlier(path, state.path(ACCESSED), load.cost):
            state.paths[ACCESSED] = rules.plus(path, load)
        if costlier(path, start, tail.cost, end.cost):
            start, end = path, tail
    if arcs is not None:
        for reading in step.reads:
            _record_arcs(step, reading, values[reading.variable, reading.cell], at, arcs)
    result = rules.plus(start, end)
    state.raise_path(LATEST, result)
    time = -1 if arcs is None else 2 * len(at.loops)
    for writing in step.writes:
        _write(step, writing, result, at, rules, state, time)


def execute_barrier(scope: str, rules: Rules, state: State) -> None:
    """Execute a barrier, which waits for accesses to memory, or for all operations if ``rules.fenced``."""
    before = state.path(LATEST) if rules.fenced else longer(state.path(FENCE), state.path(ACCESSED))
    after = rules.plus(before, rules.tail(((scope, "barrier"),)))
    state.paths[FENCE] = state.paths[ACCESSED] = after
    state.raise_path(LATEST, after)


def _record_arcs(step: Step, reading: Read, values: list[CellValue], at: Position, arcs: Arcs) -> None:
    # dict.fromkeys: often one statement stored many cells
    for source, time in dict.fromkeys(chain.from_iterable([value.sources.items() for value in values])):
        key = (source, step.name, reading.variable, at.carrier(time))
        if key not in arcs or len(arcs[key].path) < len(reading.path):
            arcs[key] = Arc(*key, reading.path)


def _write(step: Step, writing: Write, path: Path, at: Position, rules: Rules, state: State, time: int) -> None:
    if writing.space in SHARED:
        path = rules.plus(longer(state.path(FENCE), path), rules.tail(((writing.space, "store"),)))
        state.raise_path(ACCESSED, path)
        state.raise_path(LATEST, path)
    cell, sources = at_iteration(writing.cell, at.offsets), {step.name: time} if time >= 0 else {}
    state.write(writing.variable, cell, CellValue(path, sources, time), not step.guarded)
