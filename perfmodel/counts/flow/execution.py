"""The state of a walk through a kernel, and what executing a statement or meeting a barrier does to it.

The state holds the value of every variable and the longest paths of the whole kernel. A *path* are acts that wait for
one another; a *cell* is an element of an array, by its indices.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache, reduce
from itertools import chain, islice
from operator import itemgetter
from types import MappingProxyType
from typing import NamedTuple

from perfmodel.counts.flow.paths import START, Cost, Path, Term, costlier, longer
from perfmodel.counts.program.program import SHARED, Act, Cell, Index, Reading, Step, Writing

Offset = tuple[bool, int]  # whether a loop's value is known; the value, or its distance from the first one followed
LATEST, ACCESSED, FENCE = "latest", "accessed", "fence"
MANY = 16  # cells of a variable; fewer are looked at one by one
KEPT = 20_000  # longer paths that a walk remembers


class CellValue(NamedTuple):
    """The value of a cell: the path to it, and when each statement last may have stored it.

    That is ``2*d`` for a store in the present iteration of the ``d`` outermost loops that are open, and not in a loop
    that is open inside of them; ``2*d + 1`` for one in an earlier iteration of the next loop. A later one is larger.
    """

    path: Path = START
    sources: Mapping[str, int] = MappingProxyType({})

    def merged(self, second: CellValue) -> CellValue:
        """Return the value of a cell that holds one of the two."""
        sources = dict(self.sources)
        for name, time in second.sources.items():
            sources[name] = max(time, sources.get(name, time))
        return CellValue(longer(self.path, second.path), sources)

    def aged(self, latest: int) -> CellValue:
        """Return the value where no store is later than ``latest``."""
        if not self.sources or max(self.sources.values()) <= latest:
            return self
        return CellValue(self.path, {name: min(time, latest) for name, time in self.sources.items()})


Cells = dict[Cell, CellValue]


def may_be_equal(left: Cell, right: Cell) -> bool:
    """Whether two cells of an array may be the same for one work-item; not where an index differs by a constant."""
    if len(left) == len(right):
        for a, b in zip(left, right, strict=True):
            if a is not None and b is not None and a[0] != b[0] and a[1] == b[1]:
                return False
    return True


def is_fixed(cell: Cell) -> bool:
    """Whether all indices of a cell are constants."""
    return not any(index is None or index[1] for index in cell)


def bound(cell: Cell, offsets: Mapping[str, Offset]) -> Cell:
    """Return the cell at one iteration of the open loops."""
    return tuple([index if index is None or not index[1] else _bound(index, offsets) for index in cell])


def _bound(index: tuple[int, tuple[tuple[str, int], ...]], offsets: Mapping[str, Offset]) -> Index:
    constant, left = index[0], []
    for name, factor in index[1]:
        known, value = offsets.get(name, (False, 0))
        constant += factor * value
        if not known:
            left.append((name, factor))
    return constant, tuple(left)


def has_names(cell: Cell) -> bool:
    """Whether an index of a cell depends on an iname."""
    return any(index is not None and index[1] for index in cell)


@lru_cache(maxsize=4096)
def blurred(cell: Cell, names: frozenset[str]) -> Cell:
    """Return the cell with every index that depends on one of the names unknown."""
    return tuple(None if index is None or any(name in names for name, _ in index[1]) else index for index in cell)


def renamed(cells: Cells, change: Callable[[Cell], Cell]) -> Cells:
    """Return cells under new names; those that become one are merged."""
    if len(cells) == 1 and () in cells:
        return dict(cells)
    result: Cells = {}
    for cell, value in cells.items():
        new = change(cell)
        result[new] = result[new].merged(value) if new in result else value
    return result


Snapshot = Mapping[str, Cells]
#: Cells by the inames, and then by the constant, of their first index; each with its place among all of the variable.
Groups = dict[tuple[tuple[str, int], ...] | None, dict[int, list[tuple[int, Cell, CellValue]]]]


@dataclass
class State:
    """The cells of every variable, and the paths of the whole kernel.

    These are the longest path to any act (``LATEST``) and to an access to memory (``ACCESSED``), and the
    path for which the next access waits (``FENCE``).
    """

    cells: dict[str, Cells] = field(default_factory=dict)
    paths: dict[str, Path] = field(default_factory=dict)
    loose: set[str] = field(default_factory=set)  # variables of which different cells may be the same
    _named: dict[str, set[Cell]] = field(default_factory=dict)  # the cells that depend on an iname
    _reads: dict[str, dict[Cell, list[CellValue]]] = field(default_factory=dict)  # since the last store to a variable
    _longest: dict[str, dict[Cell, Path]] = field(default_factory=dict)  # since the last store, too
    _by_first: dict[str, Groups] = field(default_factory=dict)  # since the last store, too

    def path(self, name: str) -> Path:
        """Return a path of the whole."""
        return self.paths.get(name, START)

    def reach(self, name: str, path: Path) -> None:
        """Make a path of the whole at least as long as ``path``."""
        self.paths[name] = longer(self.paths.get(name, START), path)

    def hold(self, path: Path) -> None:
        """Let all that follows wait for a path."""
        for name in (FENCE, ACCESSED, LATEST):
            self.paths[name] = longer(path, self.path(name))

    def read(self, variable: str, cell: Cell) -> list[CellValue]:
        """Return the values that a cell may hold."""
        cells = self.cells.get(variable)
        if not cells:
            return []
        if variable not in self.loose and is_fixed(cell) and len(cell) == len(next(iter(cells))):
            return [cells[cell]] if cell in cells else []
        reads = self._reads.setdefault(variable, {})
        if cell not in reads:
            reads[cell] = [value for stored, value in self._near(variable, cell) if may_be_equal(cell, stored)]
        return reads[cell]

    def _near(self, variable: str, cell: Cell) -> Iterable[tuple[Cell, CellValue]]:
        """Return the cells of a variable, in the order of the stores; of many, those whose first index may be equal."""
        cells = self.cells[variable]
        if len(cells) < MANY or not cell or cell[0] is None:
            return cells.items()
        if variable not in self._by_first:
            groups: Groups = {}
            for place, (stored, value) in enumerate(cells.items()):
                constant, names = (stored[0] if stored else None) or (0, None)
                groups.setdefault(names, {}).setdefault(constant, []).append((place, stored, value))
            self._by_first[variable] = groups
        constant, names = cell[0]
        near = []
        for stored_names, by_constant in self._by_first[variable].items():
            for group in [by_constant.get(constant, [])] if stored_names == names else by_constant.values():
                near += group
        return [(stored, value) for _, stored, value in sorted(near, key=itemgetter(0))]

    def longest(self, variable: str, cell: Cell) -> Path:
        """Return the longest path to a value that a cell may hold."""
        longest = self._longest.get(variable)
        if longest is None:
            longest = self._longest[variable] = {}
        if cell not in longest:
            paths = [value.path for value in self.read(variable, cell)]
            longest[cell] = reduce(longer, paths, START)
        return longest[cell]

    def replace(self, variable: str, cells: Cells) -> None:
        """Change all cells of a variable."""
        self.cells[variable] = cells
        self._named.pop(variable, None)
        self._forget_reads(variable)

    def write(self, variable: str, cell: Cell, value: CellValue, surely: bool) -> None:
        """Store a value; where the cell, or the store itself, is not sure, the cell may also keep the old value."""
        cells = self.cells.setdefault(variable, {})
        if (cell and not is_fixed(cell)) or (cells and len(cell) != len(next(iter(cells)))):
            self.loose.add(variable)
            if has_names(cell) and variable in self._named:
                self._named[variable].add(cell)
        self._forget_reads(variable)
        if cell in cells and (None in cell or not surely):
            value = cells[cell].merged(value)
        cells[cell] = value

    def _forget_reads(self, variable: str) -> None:
        self._reads.pop(variable, None)
        self._longest.pop(variable, None)
        self._by_first.pop(variable, None)

    def blur(self, variables: frozenset[str], names: frozenset[str]) -> None:
        """Forget which cells of some variables belong to which values of some inames."""
        for variable in self.cells.keys() & variables:
            self.replace(variable, renamed(self.cells[variable], lambda cell: blurred(cell, names)))

    def age(self, variables: Iterable[str], latest: int) -> None:
        """Let no store to some variables be later than ``latest``: an iteration of a loop, or the loop, has ended."""
        for variable, cells in self._of(variables):
            self.cells[variable] = {cell: value.aged(latest) for cell, value in cells.items()}
            self._forget_reads(variable)

    def snapshot(self, variables: Iterable[str], names: frozenset[str] = frozenset()) -> Snapshot:
        """Return the values of some variables now; indices that depend on any of the names become unknown."""
        if not names:
            return {variable: dict(cells) for variable, cells in self._of(variables)}
        return {variable: self._blurred(variable, cells, names) for variable, cells in self._of(variables)}

    def _blurred(self, variable: str, cells: Cells, names: frozenset[str]) -> Cells:
        """Return the cells of a variable, indices that depend on names unknown; often only the last stored do."""
        if variable not in self._named:
            self._named[variable] = {cell for cell in cells if cell and has_names(cell)}
        changed = {cell for cell in self._named[variable] if blurred(cell, names) != cell}
        if not changed:
            return dict(cells)
        last = list(islice(reversed(cells), len(changed)))
        if not changed.issuperset(last):
            return renamed(cells, lambda cell: blurred(cell, names))
        result = dict(cells)
        for cell in last:
            del result[cell]
        for cell in reversed(last):
            new = blurred(cell, names)
            result[new] = result[new].merged(cells[cell]) if new in result else cells[cell]
        return result

    def _of(self, variables: Iterable[str]) -> list[tuple[str, Cells]]:
        return [(variable, self.cells[variable]) for variable in variables if variable in self.cells]


class Tail(NamedTuple):
    """Acts at the end of a path, and their cost."""

    terms: tuple[tuple[Term, int], ...]
    cost: Cost


class Operand(NamedTuple):
    """A value that a statement needs: the acts after it, its load from memory, whether its cell depends on inames."""

    variable: str
    cell: Cell
    tail: Tail
    load: Tail | None
    named: bool


@dataclass(frozen=True)
class Rules:
    """What a walk is to measure."""

    cost: Callable[[Act], Cost]
    fenced: bool = False  # whether a barrier holds back everything; else it holds back only accesses to memory
    in_order: bool = False  # whether each iteration of a loop that is not unrolled waits for the one before
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
            self._tails[acts] = Tail(terms, sum([self.cost(act) for act in acts]))
        return self._tails[acts]

    def operands(self, step: Step) -> list[Operand]:
        """Return the values that a statement needs, with the costs of the acts after them.

        A reading is left out where an earlier one of the same cell takes as long: the first of two decides.
        """
        if id(step) not in self._operands:
            operands: list[Operand] = []
            most: dict[tuple[str, Cell, Tail | None], Cost] = {}
            for reading in step.readings:
                tail, load = self.tail(reading.path), self.tail(reading.path[:1]) if _is_load(reading) else None
                key = (reading.variable, reading.cell, load)
                if key not in most or tail.cost > most[key]:
                    most[key] = tail.cost
                    operands.append(Operand(reading.variable, reading.cell, tail, load, has_names(reading.cell)))
            self._operands[id(step)] = (step, operands)
        return self._operands[id(step)][1]


@dataclass(frozen=True)
class Position:
    """Where in the loops a walk is."""

    loops: tuple[str, ...] = ()  # that are open, outermost first
    offsets: dict[str, Offset] = field(default_factory=dict)  # the value of each open loop in this iteration
    runs: int = 1  # how often the present body is followed
    launched: bool = False  # whether it is inside a launch
    _bound: dict[Cell, Cell] = field(default_factory=dict)

    def bound(self, cell: Cell) -> Cell:
        """Return a cell at this iteration of the open loops."""
        if cell not in self._bound:
            self._bound[cell] = bound(cell, self.offsets)
        return self._bound[cell]

    def iteration(self, loop: str, offset: Offset, runs: int) -> Position:
        """Return the position in one iteration of a loop whose body is followed ``runs`` times in all."""
        return Position((*self.loops, loop), {**self.offsets, loop: offset}, runs, self.launched)

    def carrier(self, time: int) -> str:
        """Return the outermost loop whose iteration is another one than at a store's time, or ""."""
        return self.loops[time // 2] if time % 2 else ""


@dataclass(frozen=True)
class Arc:
    """A value that a statement (``source``) stores and another, or a later run of the same, (``target``) reads."""

    source: str
    target: str
    variable: str
    carried: str  # the outermost loop whose iteration differs between the two, or ""
    path: tuple[Act, ...]  # from the value to the target's result


NO_ACTS = Tail((), 0)
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
        if load and costlier(path, state.path(ACCESSED), load.cost):
            state.paths[ACCESSED] = rules.plus(path, load)
        if costlier(path, start, tail.cost, end.cost):
            start, end = path, tail
    if arcs is not None:
        for reading in step.readings:
            _note_arcs(step, reading, state.read(reading.variable, at.bound(reading.cell)), at, arcs)
    result = rules.plus(start, end)
    state.reach(LATEST, result)
    for writing in step.writings:
        _write(step, writing, result, at, rules, state, {} if arcs is None else {step.name: 2 * len(at.loops)})


def meet_barrier(scope: str, rules: Rules, state: State) -> None:
    """Execute a barrier: it waits for the accesses to memory before it, or for everything."""
    before = state.path(LATEST) if rules.fenced else longer(state.path(FENCE), state.path(ACCESSED))
    after = rules.extended(before, ((scope, "barrier"),))
    state.paths[FENCE] = state.paths[ACCESSED] = after
    state.reach(LATEST, after)


def _is_load(reading: Reading) -> bool:
    return bool(reading.path) and reading.path[0][0] in SHARED


def _note_arcs(step: Step, reading: Reading, values: list[CellValue], at: Position, arcs: Arcs) -> None:
    """Note from which statements a value that is read may come."""
    # often many cells were stored by one statement
    for source, time in dict.fromkeys(chain.from_iterable([value.sources.items() for value in values])):
        key = (source, step.name, reading.variable, at.carrier(time))
        if key not in arcs or len(arcs[key].path) < len(reading.path):
            arcs[key] = Arc(*key, reading.path)


def _write(
    step: Step, writing: Writing, path: Path, at: Position, rules: Rules, state: State, sources: Mapping[str, int]
) -> None:
    """Store a result."""
    if writing.space in SHARED:
        path = rules.extended(longer(state.path(FENCE), path), ((writing.space, "store"),))
        state.reach(ACCESSED, path)
        state.reach(LATEST, path)
    state.write(writing.variable, at.bound(writing.cell), CellValue(path, sources), not step.guarded)
