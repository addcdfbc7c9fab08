"""Chains of acts of one work-item, and ratios between them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from perfmodel.counts.program.steps import SHARED
from perfmodel.counts.quasipoly.count import Count


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
