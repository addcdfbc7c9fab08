"""The state of a walk through a kernel: the value of every variable, and the paths of the whole kernel."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice

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

LATEST, ACCESSED, FENCE, WORK = "<latest>", "<accessed>", "<fence>", "<work>"  # no valid names in C
WHOLE = frozenset({LATEST, ACCESSED, FENCE, WORK})
Snapshot = Mapping[str, Cells]


@dataclass
class State:
    """The cells of every variable; the paths of the whole kernel are stored as variables of one cell.

    These are the longest path to any act (``LATEST``) and to an access to memory (``ACCESSED``), the
    path for which the next access waits (``FENCE``), and all acts so far (``WORK``).
    """

    cells: dict[str, Cells] = field(default_factory=dict)
    _loose: set[str] = field(default_factory=set)  # variables of which different cells may be the same
    _named: dict[str, set[Cell]] = field(default_factory=dict)  # the cells that depend on an iname
    _longest: dict[str, dict[Cell, Path]] = field(default_factory=dict)  # since the last store to a variable

    # {{{ paths of the whole

    def path(self, name: str) -> Path:
        """Return a path of the whole."""
        cells = self.cells.get(name)
        return cells[()].path if cells else START

    def set(self, name: str, path: Path) -> None:
        """Change a path of the whole."""
        self.cells[name] = {(): Value(path)}

    def reach(self, name: str, path: Path) -> None:
        """Make a path of the whole at least as long as ``path``."""
        known = self.path(name)
        if path.cost > known.cost or name not in self.cells:
            self.set(name, longer(known, path))

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
        return [value for other, value in cells.items() if may_be_equal(cell, other)]

    def longest(self, variable: str, cell: Cell) -> Path:
        """Return the longest path to a value that a cell may hold."""
        if variable not in self.cells:
            return START
        known = self._longest.setdefault(variable, {})
        if cell not in known:
            paths = [value.path for value in self.read(variable, cell)]
            known[cell] = max([START, *paths], key=lambda path: path.cost)  # the first of two that cost the same
        return known[cell]

    def replace(self, variable: str, cells: Cells) -> None:
        """Change all cells of a variable."""
        self.cells[variable] = cells
        self._named[variable] = {cell for cell in cells if has_names(cell)}
        self._longest.pop(variable, None)

    def write(self, variable: str, cell: Cell, value: Value, surely: bool) -> None:
        """Store a value; where the cell, or the store itself, is not sure, the cell may also keep the old value."""
        cells = self.cells.setdefault(variable, {})
        if not is_fixed(cell) or (cells and len(cell) != len(next(iter(cells)))):
            self._loose.add(variable)
            if has_names(cell):
                self._named.setdefault(variable, set()).add(cell)
        self._longest.pop(variable, None)
        if cell in cells and (None in cell or not surely):
            value = cells[cell].merged(value)
        cells[cell] = value

    def blur(self, variables: frozenset[str], names: frozenset[str]) -> None:
        """Forget which cells of some variables belong to which values of some inames."""
        for variable in self.cells.keys() & variables:
            self.replace(variable, renamed(self.cells[variable], lambda cell: blurred(cell, names)))

    def leave(self, variables: Iterable[str], depth: int) -> None:
        """Forget the iterations, of a loop that has ended, in which values of some variables were stored."""
        for variable, cells in self._of(variables):
            self.cells[variable] = {cell: value.outside(depth) for cell, value in cells.items()}

    # }}}

    def snapshot(self, variables: Iterable[str], names: frozenset[str] = frozenset()) -> Snapshot:
        """Return the values of some variables now; indices that depend on any of the names become unknown."""
        if not names:
            return {variable: dict(cells) for variable, cells in self._of(variables)}
        return {variable: self._blurred(variable, cells, names) for variable, cells in self._of(variables)}

    def _blurred(self, variable: str, cells: Cells, names: frozenset[str]) -> Cells:
        """Return the cells of a variable, indices that depend on names unknown; often only the last stored do."""
        changed = {cell for cell in self._named.get(variable, ()) if blurred(cell, names) != cell}
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
