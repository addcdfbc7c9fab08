"""The dataflow of a kernel: its longest chain, its parallelism within a work-item, its graph.

Assumptions:

- The number of registers has no limit and renaming is perfect, so that only the flow of values makes
  one statement wait for another. The compiler keeps C's order of operations.
- Every guard may let its statement through.
- Arrays are followed cell by cell where indices differ by constants; otherwise any cell may be any
  other. Cells of local and global memory that differ by the work-item are different until the next barrier.
- A barrier waits for the accesses to memory before it, and accesses after it wait for it.
- Chains are compared at large sizes (1024 and above where the assumptions allow); each is then a
  function of the sizes. Where a loop runs no iteration, its first acts are still on the chain.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from perfmodel.counts.counters.cardinality import Cardinalities
from perfmodel.counts.flow.execution import LATEST, Arcs, Position, Rules
from perfmodel.counts.flow.graph import FlowGraph, flow_graph
from perfmodel.counts.flow.paths import Chain, ChainRow, Parallelism, Term
from perfmodel.counts.flow.trips import Trips
from perfmodel.counts.flow.walkthrough import Walkthrough
from perfmodel.counts.flow.work import work_of
from perfmodel.counts.program.program import SHARED, Act, Dataflow
from perfmodel.counts.quasipoly.count import Count
from perfmodel.errors import ActCostError
from perfmodel.lazy import Lazy, cached_property
from perfmodel.threads import alone

Costs = Mapping[str | Act, float]
TIE = 1e-9  # what an access costs where operations decide
GLOBAL_LOAD: Act = ("global", "load")
#: Rough latencies of a device that does not look ahead, over that of an addition; stores are not waited for.
LATENCIES: Mapping[Act, float] = MappingProxyType(
    {GLOBAL_LOAD: 20.0, ("global", "store"): 0.0, ("local", "load"): 1.5, ("local", "store"): 0.0}
)
QUICK = ("add", "mul", "minmax", "shift", "bitwise", "barrier")
SLOW = 8.0  # a division or a function


@dataclass(frozen=True, eq=False)
class Flow(Lazy):
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
    @alone
    def _trips(self) -> Trips:
        return Trips(self.cardinalities)

    @cached_property
    def depth(self) -> Chain:
        """The longest chain of operations, with the accesses and barriers on it.

        Sequential trips multiply, parallel inames enter once. Accesses and barriers decide only
        between chains of equally many operations.
        """
        return self._longest(Rules(_by_operations))

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
        return self._longest(Rules(lambda act: costs.get(act, costs.get(act[1], 1.0))))

    @cached_property
    def work(self) -> Chain:
        """All that a work-item does, the one with the longest loops."""
        return self._chain(work_of(self.dataflow, self._trips))

    @cached_property
    def between_barriers(self) -> Chain:
        """The longest chain where nothing moves across a barrier: the sum over the parts between."""
        return self._longest(Rules(lambda act: float(act[1] != "barrier"), fenced=True))

    @cached_property
    def in_order(self) -> Chain:
        """The longest chain on a device that does not look ahead, by rough latencies (:data:`LATENCIES`).

        Each iteration of a loop that is not unrolled waits for the one before, and what stands behind a barrier for all
        before it: a sub-group issues its instructions in order, and stops at the first that lacks an operand.
        """
        return self._longest(
            Rules(lambda act: LATENCIES.get(act, 1.0 if act[1] in QUICK else SLOW), fenced=True, in_order=True)
        )

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
        rounds = self._longest(Rules(lambda act: float(act == GLOBAL_LOAD), fenced=True, in_order=True))
        return Parallelism(self.work.accesses(*GLOBAL_LOAD), rounds.accesses(*GLOBAL_LOAD))

    @cached_property
    def graph(self) -> FlowGraph:
        """The statements and barriers with the arcs of control and of data between them."""
        return flow_graph(self._walk(Rules(_by_operations), arcs={}))

    @alone
    def _walk(self, rules: Rules, arcs: Arcs | None = None) -> Walkthrough:
        walk = Walkthrough(self.dataflow, self._trips, rules, arcs=arcs)
        walk.block(self.cardinalities.program.schedule, Position())
        return walk

    def _longest(self, rules: Rules) -> Chain:
        return self._chain(self._walk(rules).state.path(LATEST).terms)

    @alone
    def _chain(self, terms: Mapping[Term, int]) -> Chain:
        counts: dict[Act, Count] = {}
        for (act, nest), amount in terms.items():
            part = amount * self._trips.count(nest)
            counts[act] = counts[act] + part if act in counts else part
        return Chain(tuple(ChainRow(*act, count) for act, count in counts.items()))


def _by_operations(act: Act) -> float:
    return TIE if act[0] in SHARED else 1.0


def _instructions(chain: Chain) -> Count:
    return chain.operations() + chain.accesses()
