"""The dataflow of a kernel: its longest chain, its parallelism within a work-item, its graph.

What is assumed: registers without end and perfect renaming, so that only the flow of values makes
one statement wait for another; the compiler keeps C's order of operations; every guard may let
through; arrays are followed cell by cell where indices differ by constants, and otherwise any cell
may be any other. In local and global memory cells that differ by the work-item are different ones
until the next barrier. A barrier waits for the accesses to memory before it, and accesses after it
wait for it. Chains are compared at large sizes (1024 and above where the assumptions allow); each is
then a function of the sizes. Where a loop runs no iteration, its first acts are still on the chain.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from perfmodel.counts.counters.cardinality import Cardinalities
from perfmodel.counts.flow.graph import FlowGraph, flow_graph
from perfmodel.counts.flow.paths import Path
from perfmodel.counts.flow.state import LATEST, WORK
from perfmodel.counts.flow.trips import Trips
from perfmodel.counts.flow.walkthrough import Rules, Walkthrough
from perfmodel.counts.program.steps import SHARED, Act, Dataflow
from perfmodel.counts.quasipoly.count import Count
from perfmodel.errors import ActCostError

Costs = Mapping[str | Act, float]
TIE = 1e-9  # what an access costs where operations decide
GLOBAL_LOAD: Act = ("global", "load")


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


@dataclass(frozen=True, eq=False)
class Flow:
    """The dataflow of a kernel.

    Examples
    --------
    >>> import loopy as lp, numpy as np
    >>> from perfmodel.counts import count
    >>> dot = lp.make_kernel("{ [i]: 0 <= i < n }", "out = sum(i, a[i]*b[i])",
    ...                      lang_version=(2018, 2), assumptions="n >= 1")
    >>> flow = count(lp.add_dtypes(dot, {"a": np.float32, "b": np.float32})).flow
    >>> [(row.kind, str(row.count)) for row in flow.chain().rows]
    [('load', '1'), ('mul', '1'), ('add', 'n'), ('store', '1')]
    >>> flow.memory_parallelism(n=1000)
    Fraction(2, 1)
    """

    dataflow: Dataflow
    cardinalities: Cardinalities

    @cached_property
    def _trips(self) -> Trips:
        return Trips(self.cardinalities)

    @cached_property
    def depth(self) -> Chain:
        """The longest chain of operations, with the accesses and barriers on it.

        Sequential trips multiply, parallel inames enter once. Accesses and barriers decide only
        between chains of equally many operations.
        """
        return self._chain(self._by_operations.state.path(LATEST))

    def chain(self, costs: Costs | None = None) -> Chain:
        """Return the longest chain of acts of a work-item, each of which waits for the one before.

        Parameters
        ----------
        costs : mapping, optional
            What an act costs, by its kind (``"rsqrt"``) or, before that, by type or space and kind
            (``("global", "load")``); 1 for an act that is not named. The longest chain is the
            costliest.

        Raises
        ------
        ActCostError
            A cost is negative or not finite.
        """
        costs = costs or {}
        for act, cost in costs.items():
            if not (math.isfinite(cost) and cost >= 0):
                raise ActCostError(act, cost)
        return self._chain(self._walk(Rules(lambda act: costs.get(act, costs.get(act[1], 1.0)))).state.path(LATEST))

    @cached_property
    def work(self) -> Chain:
        """All that a work-item does, the one with the longest loops."""
        return self._chain(self._by_operations.state.path(WORK))

    @cached_property
    def between_barriers(self) -> Chain:
        """The longest chain where nothing moves across a barrier: the sum over the parts between."""
        return self._chain(self._walk(Rules(_no_barrier, fenced=True)).state.path(LATEST))

    @cached_property
    def instruction_parallelism(self) -> Parallelism:
        """Operations and accesses of a work-item over those on its critical path between barriers."""
        return Parallelism(_instructions(self.work), _instructions(self.between_barriers))

    @cached_property
    def memory_parallelism(self) -> Parallelism:
        """Loads from global memory over the rounds in which they can be issued.

        A load is of a later round where its address depends on a load of an earlier, or a barrier
        or the end of an iteration of a loop that is not unrolled lies between: the mean number of
        independent loads before the first use of one, if the compiler moves each as far up as its
        address and the straight-line code allow.
        """
        def cost(act: Act) -> float:
            return float(act == GLOBAL_LOAD)

        rounds = self._chain(self._walk(Rules(cost, fenced=True, in_order=True)).state.path(LATEST))
        return Parallelism(self.work.accesses(*GLOBAL_LOAD), rounds.accesses(*GLOBAL_LOAD))

    @cached_property
    def graph(self) -> FlowGraph:
        """The statements and barriers with the arcs of control and of data between them."""
        return flow_graph(self._by_operations)

    @cached_property
    def _by_operations(self) -> Walkthrough:
        return self._walk(Rules(lambda act: TIE if act[0] in SHARED else 1.0))

    def __reduce__(self) -> tuple[type[Flow], tuple[Dataflow, Cardinalities]]:
        return Flow, (self.dataflow, self.cardinalities)  # what was worked out is left behind

    def _walk(self, rules: Rules) -> Walkthrough:
        walk = Walkthrough(self.dataflow, self._trips, rules)
        walk.block(self.cardinalities.program.schedule)
        return walk

    def _chain(self, path: Path) -> Chain:
        counts: dict[Act, Count] = {}
        for (act, nest), amount in path.terms.items():
            part = amount * self._trips.count(nest)
            counts[act] = counts[act] + part if act in counts else part
        return Chain(tuple(ChainRow(*act, count) for act, count in counts.items()))


def _instructions(chain: Chain) -> Count:
    return chain.operations() + chain.accesses()


def _no_barrier(act: Act) -> float:
    return float(act[1] != "barrier")
