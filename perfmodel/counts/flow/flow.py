"""The dataflow of one work-item: its longest dependence chain, its parallelism, and what its loops carry.

Input: a program with its dataflow and the sizes of its sets. Output: counts of operations on chains, ratios of counts,
and dependences. "Operations" here include accesses to memory and barriers.

Assumptions:

- Registers are unlimited and renaming is perfect: a statement waits for values only. The compiler keeps C's order of
  operations.
- Each guard may let its statement through.
- Array cells are distinguished where indices differ by constants; otherwise any cell may be any other. Cells of local
  and global memory that differ by the work-item are different until the next barrier.
- A barrier waits for the accesses to memory before it, and accesses after it wait for it.
- Chains are compared at large sizes (1024 and above where the assumptions allow); the longest is then a function of the
  sizes. If a loop runs no iteration, its first operations are still on the chain.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from perfmodel.counts.counters.executions import Cardinalities
from perfmodel.counts.flow.execution import LATEST, Arc, Arcs, Position, Rules
from perfmodel.counts.flow.paths import Term
from perfmodel.counts.flow.trips import Trips
from perfmodel.counts.flow.walk import Walk
from perfmodel.counts.flow.work import before_access, work_of
from perfmodel.counts.program.program import SHARED, Dataflow, OpKind
from perfmodel.counts.quasipoly.count import Count
from perfmodel.values import FrozenValue


@dataclass(frozen=True, eq=False)
class ChainRow:
    """Operations of one kind in one work-item."""

    where: str  # the type of an operation; ``"global"`` or ``"local"`` for an access or a barrier
    kind: str  # the kind of the operation; ``"load"``, ``"store"`` or ``"barrier"``
    count: Count  # their number in one work-item, of granularity ``"chain"``

    @property
    def is_operation(self) -> bool:
        return self.where not in SHARED


@dataclass(frozen=True, eq=False)
class Chain:
    """The operations of one work-item that are on its longest chain, or all of them."""

    rows: tuple[ChainRow, ...]

    def operations(self, dtype: str | None = None, kind: str | None = None) -> Count:
        """Return the arithmetic operations of a type and kind; without an argument, of all types or kinds."""
        return self._sum(lambda row: row.is_operation and dtype in (None, row.where) and kind in (None, row.kind))

    def accesses(self, space: str | None = None, direction: str | None = None) -> Count:
        """Return the accesses to global and local memory that match."""
        return self._sum(
            lambda row: row.where in SHARED and row.kind != "barrier"
            and space in (None, row.where) and direction in (None, row.kind)
        )

    def barriers(self, scope: str | None = None) -> Count:
        """Return the barriers of a scope, ``"local"`` or ``"global"``, or of both."""
        return self._sum(lambda row: row.kind == "barrier" and scope in (None, row.where))

    def _sum(self, asked: Callable[[ChainRow], bool]) -> Count:
        return sum((row.count for row in self.rows if asked(row)), Count.constant(0, "chain"))


@dataclass(frozen=True, eq=False)
class Parallelism:
    """All operations of a work-item over those that wait for one another."""

    total: Count
    serial: Count

    def __call__(self, **sizes: int) -> Fraction:
        """Return the ratio at given sizes; 1 without operations."""
        serial = Fraction(self.serial(**sizes))
        return Fraction(self.total(**sizes)) / serial if serial else Fraction(1)

    def evaluate(self, sizes: Mapping[str, ArrayLike]) -> NDArray[np.float64]:
        """Return the ratios at arrays of sizes, broadcast together."""
        serial = self.serial.evaluate(sizes)
        total = self.total.evaluate(sizes)
        return np.divide(total, serial, out=np.ones_like(serial), where=serial != 0)


@dataclass(frozen=True, eq=False)
class Recurrence:
    """A variable that each iteration of a loop computes from its value in the iteration before."""

    loop: str  # the loop, and the variable that it carries
    variable: str
    #: the operations that one iteration adds to the chain, each in every iteration of the inner loops
    terms: tuple[tuple[Term, int], ...]
    chains: int  # cells of the variable that the loop carries independently


TIE = 10**9  # cost of an arithmetic operation; accesses cost 1 and so decide only between equal chains
GLOBAL_LOAD: OpKind = ("global", "load")


@dataclass(frozen=True, eq=False)
class Flow(FrozenValue):
    """The dataflow of a kernel.

    Examples
    --------
    >>> import loopy as lp, numpy as np
    >>> from perfmodel.counts import count
    >>> dot = lp.make_kernel("{ [i]: 0 <= i < n }", "out = sum(i, a[i]*b[i])",
    ...                      lang_version=(2018, 2), assumptions="n >= 1")
    >>> flow = count(lp.add_dtypes(dot, {"a": np.float32, "b": np.float32})).flow
    >>> [(row.kind, str(row.count)) for row in flow.depth.rows]
    [('load', '1'), ('mul', '1'), ('add', 'n'), ('store', '1')]
    >>> flow.memory_parallelism(n=1000)
    Fraction(2, 1)
    """

    dataflow: Dataflow
    cardinalities: Cardinalities
    same_schedule: Flow | None = field(default=None, compare=False, repr=False)  # its walk is used again

    @cached_property
    def _trips(self) -> Trips:
        return Trips(self.cardinalities)

    @cached_property
    def depth(self) -> Chain:
        """The longest chain of operations, with the accesses and barriers on it.

        Trips of sequential loops multiply, parallel inames count once. Accesses and barriers decide only between chains
        with equally many arithmetic operations.
        """
        return self._chain(self._by_operations.state.path(LATEST).terms)

    @cached_property
    def _by_operations(self) -> Walk:
        if self.same_schedule is not None:
            return self.same_schedule._by_operations
        return self._walk(Rules(lambda operation: 1 if operation[0] in SHARED else TIE), arcs={})

    @cached_property
    def work(self) -> Chain:
        """All operations of a work-item with the longest loops."""
        return self._chain(work_of(self.dataflow, self._trips))

    @cached_property
    def before_access(self) -> Chain:
        """All operations of a work-item before its first access to global memory, summed over launches."""
        return self._chain(before_access(self.dataflow, self._trips))

    @cached_property
    def between_barriers(self) -> Chain:
        """The longest chain where no operation moves across a barrier: the sum over the parts between barriers."""
        return self._longest(Rules(lambda operation: int(operation[1] != "barrier"), fenced=True))

    @cached_property
    def instruction_parallelism(self) -> Parallelism:
        """Operations and accesses of a work-item over those on its critical path between barriers."""
        return Parallelism(_instructions(self.work), _instructions(self.between_barriers))

    @cached_property
    def memory_parallelism(self) -> Parallelism:
        """Loads from global memory over the rounds in which they can be issued.

        Two loads are in different rounds if the address of one depends on the other, or if a barrier or the end of an
        iteration of a loop that is not unrolled lies between them. The ratio is the mean number of independent loads in
        flight, if the compiler moves each load as far up as its address and the straight-line code allow.
        """
        rounds = self._longest(Rules(lambda operation: int(operation == GLOBAL_LOAD), fenced=True, in_order=True))
        return Parallelism(self.work.accesses(*GLOBAL_LOAD), rounds.accesses(*GLOBAL_LOAD))

    @cached_property
    def dependences(self) -> tuple[Arc, ...]:
        """The values that a statement stores and another statement, or a later execution of it, reads."""
        return tuple((self._by_operations.arcs or {}).values())

    @cached_property
    def recurrences(self) -> tuple[Recurrence, ...]:
        """The variables that loops carry from iteration to iteration."""
        carried = {(arc.carried, arc.variable) for arc in self.dependences}
        return tuple(
            Recurrence(growth.loop, growth.variable, tuple(sorted(growth.terms)), chains)
            for growth, chains in self._by_operations.growths.items() if (growth.loop, growth.variable) in carried
        )

    def _walk(self, rules: Rules, arcs: Arcs | None = None) -> Walk:
        walk = Walk(self.dataflow, self._trips, rules, arcs=arcs)
        walk.block(self.cardinalities.program.schedule, Position())
        return walk

    def _longest(self, rules: Rules) -> Chain:
        return self._chain(self._walk(rules).state.path(LATEST).terms)

    def _chain(self, terms: Mapping[Term, int]) -> Chain:
        counts: dict[OpKind, Count] = {}
        for (operation, nest), amount in terms.items():
            part = amount * self._trips.count(nest)
            counts[operation] = counts[operation] + part if operation in counts else part
        return Chain(tuple(ChainRow(*operation, count) for operation, count in counts.items()))


def _instructions(chain: Chain) -> Count:
    return chain.operations() + chain.accesses()
