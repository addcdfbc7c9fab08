"""Paths through a kernel's dataflow: values and cells of variables, chains of one work-item, and ratios of chains."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from perfmodel.counts.flow.trips import Nest
from perfmodel.counts.program.program import SHARED, Act, Cell, Index
from perfmodel.counts.quasipoly.count import Count

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


class CellValue(NamedTuple):
    """The value of a cell: the path to it, and the last iteration of each statement that may have stored it."""

    path: Path = START
    sources: Mapping[str, Stamp] = MappingProxyType({})

    def merged(self, second: CellValue) -> CellValue:
        """Return the value of a cell that holds one of the two."""
        sources = dict(self.sources)
        for name, stamp in second.sources.items():
            sources[name] = max(stamp, sources.get(name, stamp))
        return CellValue(longer(self.path, second.path), sources)

    def outside(self, depth: int) -> CellValue:
        """Return the value after a loop: iterations are those of the ``depth`` loops around it."""
        if not self.sources or len(max(self.sources.values(), key=len)) <= depth:
            return self
        return CellValue(self.path, {name: stamp[:depth] for name, stamp in self.sources.items()})


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


@dataclass(frozen=True, eq=False)
class ChainRow:
    """Acts of one kind in one work-item.

    Attributes
    ----------
    where : str
        The type of an operation; ``"global"`` or ``"local"`` for an access or a barrier.
    kind : str
        The kind of the operation; ``"load"``, ``"store"`` or ``"barrier"``.
    count : Count
        How many, of granularity ``"chain"``: those of one work-item, not of all.
    """

    where: str
    kind: str
    count: Count

    @property
    def is_operation(self) -> bool:
        """Whether it is an operation, not an access or a barrier."""
        return self.where not in SHARED


@dataclass(frozen=True, eq=False)
class Chain:
    """Acts of one work-item: those of its longest chain, or all of them."""

    rows: tuple[ChainRow, ...]

    def operations(self, dtype: str | None = None, kind: str | None = None) -> Count:
        """Return the operations of a type and kind; an argument left out sums over it."""
        return self._sum(
            lambda row: row.is_operation and dtype in (None, row.where) and kind in (None, row.kind)
        )

    def accesses(self, space: str | None = None, direction: str | None = None) -> Count:
        """Return the accesses to global and local memory that match."""
        return self._sum(
            lambda row: row.where in SHARED and row.kind != "barrier"
            and space in (None, row.where) and direction in (None, row.kind)
        )

    def barriers(self, scope: str | None = None) -> Count:
        """Return the barriers of a scope, ``"local"`` or ``"global"``; all of them if left out."""
        return self._sum(lambda row: row.kind == "barrier" and scope in (None, row.where))

    def _sum(self, asked: Callable[[ChainRow], bool]) -> Count:
        return sum((row.count for row in self.rows if asked(row)), Count.constant(0, "chain"))


@dataclass(frozen=True, eq=False)
class Parallelism:
    """The ratio of all that a work-item does to what it does one after the other."""

    total: Count
    serial: Count

    def __call__(self, **sizes: int) -> Fraction:
        """Return the ratio at the given sizes; 1 where nothing is done."""
        serial = Fraction(self.serial(**sizes))
        return Fraction(self.total(**sizes)) / serial if serial else Fraction(1)

    def evaluate(self, sizes: Mapping[str, ArrayLike]) -> NDArray[np.float64]:
        """Return the ratios at arrays of sizes, broadcast together."""
        serial = self.serial.evaluate(sizes)
        total = self.total.evaluate(sizes)
        return np.divide(total, serial, out=np.ones_like(serial), where=serial != 0)
