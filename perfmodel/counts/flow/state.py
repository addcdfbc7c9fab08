"""The state of a walk through a kernel: the value of every variable, and the paths of the whole kernel."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from perfmodel.counts.flow.paths import START, Cells, Path, Value, blurred, longer, may_be_equal, renamed
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
        self.set(name, longer(self.path(name), path))

    def hold(self, path: Path) -> None:
        """Let all that follows wait for a path."""
        for name in (FENCE, ACCESSED, LATEST):
            self.set(name, longer(path, self.path(name)))

    # }}}

    # {{{ variables

    def read(self, variable: str, cell: Cell) -> Iterator[Value]:
        """Yield the values that a cell may hold."""
        for other, value in self.cells.get(variable, {}).items():
            if may_be_equal(cell, other):
                yield value

    def write(self, variable: str, cell: Cell, value: Value, surely: bool) -> None:
        """Store a value; where the cell, or the store itself, is not sure, the cell may also keep the old value."""
        cells = self.cells.setdefault(variable, {})
        if cell in cells and (None in cell or not surely):
            value = cells[cell].merged(value)
        cells[cell] = value

    def blur(self, variables: frozenset[str], names: frozenset[str]) -> None:
        """Forget which cells of some variables belong to which values of some inames."""
        for variable in self.cells.keys() & variables:
            self.cells[variable] = renamed(self.cells[variable], lambda cell: blurred(cell, names))

    def leave(self, depth: int) -> None:
        """Forget the iterations, of a loop that has ended, in which values were stored."""
        for variable, cells in self.cells.items():
            self.cells[variable] = {cell: value.outside(depth) for cell, value in cells.items()}

    # }}}

    def snapshot(self, names: frozenset[str] = frozenset()) -> Snapshot:
        """Return all values now; indices that depend on any of the names become unknown."""
        if not names:
            return {variable: dict(cells) for variable, cells in self.cells.items()}
        return {
            variable: renamed(cells, lambda cell: blurred(cell, names))
            for variable, cells in self.cells.items()
        }


def path_in(snapshot: Snapshot, variable: str, cell: Cell) -> Path | None:
    """Return the path to a cell in a snapshot, None where nothing was stored."""
    value = snapshot.get(variable, {}).get(cell)
    return None if value is None else value.path
