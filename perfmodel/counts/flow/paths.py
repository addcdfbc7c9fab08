"""Paths through a kernel's dataflow, and the values and cells of its variables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple

from perfmodel.counts.flow.trips import Nest
from perfmodel.counts.program.steps import Act, Cell, Index

Term = tuple[Act, Nest]  # an act, executed in each run of a nest's body
Stamp = tuple[tuple[str, int], ...]  # which iteration of each open loop
Offset = tuple[bool, int]  # whether a loop's value is known; the value, or its distance from the first one followed


class Path(NamedTuple):  # a walk makes tens of thousands, and of values
    """Acts that wait for one another, and their total cost at large sizes."""

    terms: Mapping[Term, int]
    cost: float = 0.0

    def plus(self, terms: Iterable[tuple[Term, int]], cost: float) -> Path:
        """Return the path with more acts at its end."""
        longer = dict(self.terms)
        for term, amount in terms:
            longer[term] = longer.get(term, 0) + amount
        return Path(longer, self.cost + cost)

    def since(self, earlier: Path) -> Mapping[Term, int]:
        """Return the acts that were added since an earlier state of the path."""
        if self.terms is earlier.terms:
            return {}
        before = earlier.terms
        return {
            term: amount - before.get(term, 0) for term, amount in self.terms.items() if amount > before.get(term, 0)
        }


START = Path({})


def longer(left: Path, right: Path) -> Path:
    """Return the costlier path, the first of two that cost the same."""
    return right if right.cost > left.cost else left


class Value(NamedTuple):
    """The value of a cell: the path to it, and the last iteration of each statement that may have stored it."""

    path: Path = START
    sources: Mapping[str, Stamp] = MappingProxyType({})

    def merged(self, other: Value) -> Value:
        """Return the value of a cell that holds one of the two."""
        sources = dict(self.sources)
        for name, stamp in other.sources.items():
            sources[name] = max(stamp, sources.get(name, stamp))
        return Value(longer(self.path, other.path), sources)

    def outside(self, depth: int) -> Value:
        """Return the value after a loop: iterations are those of the ``depth`` loops around it."""
        if not self.sources or len(max(self.sources.values(), key=len)) <= depth:
            return self
        return Value(self.path, {name: stamp[:depth] for name, stamp in self.sources.items()})


Cells = dict[Cell, Value]


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
    return tuple(
        None if index is None or any(name in names for name, _ in index[1]) else index for index in cell
    )


def renamed(cells: Cells, change: Callable[[Cell], Cell]) -> Cells:
    """Return cells under new names; those that become one are merged."""
    if len(cells) == 1 and () in cells:
        return dict(cells)
    result: Cells = {}
    for cell, value in cells.items():
        new = change(cell)
        result[new] = result[new].merged(value) if new in result else value
    return result
