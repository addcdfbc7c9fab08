"""The state of a walk through a kernel: the value of every variable, and the paths of the whole kernel."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from operator import itemgetter

from perfmodel.counts.flow.paths import (
    START,
    Cells,
    Path,
    Value,
    blurred,
    has_names,
    is_fixed,
    longer,
    may_be_equal,
    renamed,
)
from perfmodel.counts.program.steps import Cell

LATEST, ACCESSED, FENCE = "latest", "accessed", "fence"
MANY = 16  # cells of a variable; fewer are looked at one by one
Snapshot = Mapping[str, Cells]
#: Cells by the inames, and then by the constant, of their first index; each with its place among all of the variable.
Groups = dict[tuple[tuple[str, int], ...] | None, dict[int, list[tuple[int, Cell, Value]]]]


@dataclass
class State:
    """The cells of every variable, and the paths of the whole kernel.

    These are the longest path to any act (``LATEST``) and to an access to memory (``ACCESSED``), and the
    path for which the next access waits (``FENCE``).
    """

    cells: dict[str, Cells] = field(default_factory=dict)
    paths: dict[str, Path] = field(default_factory=dict)
    _loose: set[str] = field(default_factory=set)  # variables of which different cells may be the same
    _named: dict[str, set[Cell]] = field(default_factory=dict)  # the cells that depend on an iname
    _longest: dict[str, dict[Cell, Path]] = field(default_factory=dict)  # since the last store to a variable
    _by_first: dict[str, Groups] = field(default_factory=dict)  # since the last store, too

    # {{{ paths of the whole

    def path(self, name: str) -> Path:
        """Return a path of the whole."""
        return self.paths.get(name, START)

    def set(self, name: str, path: Path) -> None:
        """Change a path of the whole."""
        self.paths[name] = path

    def reach(self, name: str, path: Path) -> None:
        """Make a path of the whole at least as long as ``path``."""
        known = self.paths.get(name, START)
        if path.cost > known.cost or name not in self.paths:
            self.paths[name] = longer(known, path)

    def hold(self, path: Path) -> None:
        """Let all that follows wait for a path."""
        for name in (FENCE, ACCESSED, LATEST):
            self.set(name, longer(path, self.path(name)))

    # }}}

    # {{{ variables

    def read(self, variable: str, cell: Cell) -> list[Value]:
        """Return the values that a cell may hold."""
        cells = self.cells.get(variable)
        if not cells:
            return []
        if variable not in self._loose and is_fixed(cell) and len(cell) == len(next(iter(cells))):
            return [cells[cell]] if cell in cells else []
        return [value for other, value in self._near(variable, cell) if may_be_equal(cell, other)]

    def _near(self, variable: str, cell: Cell) -> Iterable[tuple[Cell, Value]]:
        """Return the cells of a variable, in the order of the stores; of many, those whose first index may be equal."""
        cells = self.cells[variable]
        if len(cells) < MANY or not cell or cell[0] is None:
            return cells.items()
        if variable not in self._by_first:
            groups: Groups = {}
            for place, (other, value) in enumerate(cells.items()):
                constant, names = (other[0] if other else None) or (0, None)
                groups.setdefault(names, {}).setdefault(constant, []).append((place, other, value))
            self._by_first[variable] = groups
        constant, names = cell[0]
        found = []
        for others, by_constant in self._by_first[variable].items():
            for group in [by_constant.get(constant, [])] if others == names else by_constant.values():
                found += group
        return [(other, value) for _, other, value in sorted(found, key=itemgetter(0))]

    def longest(self, variable: str, cell: Cell) -> Path:
        """Return the longest path to a value that a cell may hold."""
        known = self._longest.get(variable)
        if known is None:
            known = self._longest[variable] = {}
        if cell not in known:
            paths = [value.path for value in self.read(variable, cell)]
            known[cell] = max([START, *paths], key=lambda path: path.cost)  # the first of two that cost the same
        return known[cell]

    def replace(self, variable: str, cells: Cells) -> None:
        """Change all cells of a variable."""
        self.cells[variable] = cells
        self._named[variable] = {cell for cell in cells if cell and has_names(cell)}
        self._forget_reads(variable)

    def write(self, variable: str, cell: Cell, value: Value, surely: bool) -> None:
        """Store a value; where the cell, or the store itself, is not sure, the cell may also keep the old value."""
        cells = self.cells.setdefault(variable, {})
        if (cell and not is_fixed(cell)) or (cells and len(cell) != len(next(iter(cells)))):
            self._loose.add(variable)
            if has_names(cell):
                self._named.setdefault(variable, set()).add(cell)
        self._forget_reads(variable)
        if cell in cells and (None in cell or not surely):
            value = cells[cell].merged(value)
        cells[cell] = value

    def _forget_reads(self, variable: str) -> None:
        self._longest.pop(variable, None)
        self._by_first.pop(variable, None)

    def blur(self, variables: frozenset[str], names: frozenset[str]) -> None:
        """Forget which cells of some variables belong to which values of some inames."""
        for variable in self.cells.keys() & variables:
            self.replace(variable, renamed(self.cells[variable], lambda cell: blurred(cell, names)))

    def leave(self, variables: Iterable[str], depth: int) -> None:
        """Forget the iterations, of a loop that has ended, in which values of some variables were stored."""
        for variable, cells in self._of(variables):
            self.cells[variable] = {cell: value.outside(depth) for cell, value in cells.items()}
            self._forget_reads(variable)

    # }}}

    def snapshot(self, variables: Iterable[str], names: frozenset[str] = frozenset()) -> Snapshot:
        """Return the values of some variables now; indices that depend on any of the names become unknown."""
        if not names:
            return {variable: dict(cells) for variable, cells in self._of(variables)}
        return {variable: self._blurred(variable, cells, names) for variable, cells in self._of(variables)}

    def _blurred(self, variable: str, cells: Cells, names: frozenset[str]) -> Cells:
        """Return the cells of a variable, indices that depend on names unknown; often only the last stored do."""
        named = self._named.get(variable)
        changed = {cell for cell in named if blurred(cell, names) != cell} if named else None
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


def path_in(snapshot: Snapshot, variable: str, cell: Cell) -> Path | None:
    """Return the path to a cell in a snapshot, None where nothing was stored."""
    value = snapshot.get(variable, {}).get(cell)
    return None if value is None else value.path
