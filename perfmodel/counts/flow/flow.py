"""The dataflow of one work-item: its longest dependence chain, its parallelism, and what its loops carry.

A *chain* is a sequence of operations in which each operation waits for the one before. In this module, operations
include accesses to memory and barriers. The counts rest on these assumptions:

- Registers are unlimited and renaming is perfect, so a statement waits for values only.
- The compiler keeps the order of operations in the C code.
- Each guard may be true or false.
- Two array cells differ if an index differs by a constant. Otherwise they may be the same.
- Cells of local and global memory whose indices differ by the work-item are different until the next barrier.
- A barrier waits for the accesses to memory before it, and accesses after a barrier wait for it.
- Chains are compared at large sizes (1024 and above where the assumptions allow). The longest chain there counts at all
  sizes. If a loop runs no iteration, its first operations are still on the chain.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

from perfmodel.counts.counters.executions import Cardinalities
from perfmodel.counts.flow.execution import LATEST, Arc, Position, Rules
from perfmodel.counts.flow.paths import Term
from perfmodel.counts.flow.trips import EFFORTS, MOST_EXECUTIONS, Trips, iterations
from perfmodel.counts.flow.walk import LongWalkError, Walk
from perfmodel.counts.program import program
from perfmodel.counts.program.program import SHARED, Dataflow, OpKind
from perfmodel.counts.quasipoly.count import Count, Ratio
from perfmodel.values import FrozenValue, cached_method


@dataclass(frozen=True, eq=False)
class ChainRow:
    """The operations of one kind in one work-item."""

    where: str  # the type of an operation; ``"global"`` or ``"local"`` for an access or a barrier
    kind: str  # the kind of the operation; ``"load"``, ``"store"`` or ``"barrier"``
    count: Count  # their number in one work-item, of granularity ``"chain"``

    @property
    def is_operation(self) -> bool:
        return self.where not in SHARED


@dataclass(frozen=True, eq=False)
class Chain:
    """The operations of one work-item: all operations, or only the operations on the longest chain."""

    rows: tuple[ChainRow, ...]

    def operations(self) -> Count:
        """Return the number of arithmetic operations."""
        return self._sum(lambda row: row.is_operation)

    def accesses(self, space: str | None = None, direction: str | None = None) -> Count:
        """Return the number of accesses to global and local memory that match. None matches everything."""
        return self._sum(
            lambda row: row.where in SHARED and row.kind != "barrier"
            and space in (None, row.where) and direction in (None, row.kind)
        )

    def _sum(self, asked: Callable[[ChainRow], bool]) -> Count:
        return sum((row.count for row in self.rows if asked(row)), Count.constant(0, "chain"))


@dataclass(frozen=True, eq=False)
class Recurrence:
    """A variable whose value in an iteration of a loop depends on the variable's value in the iteration before."""

    loop: str  # the loop, and the variable that it carries
    variable: str
    #: the operations that one iteration adds to the chain, each in every iteration of the inner loops
    terms: tuple[tuple[Term, int], ...]
    chains: int  # cells of the variable that the loop carries independently


TIE = 10**9  # cost of an arithmetic operation; accesses cost 1, so that they only break ties
GLOBAL_LOAD, LOCAL_LOAD = LOADS = ("global", "load"), ("local", "load")


def _latency(operation: OpKind) -> int:
    """Return roughly the cycles for which an x86 core waits for an integer, a number, or a load."""
    return 5 if operation in LOADS else 4 if operation[0].startswith(("float", "complex")) else 1


@dataclass(frozen=True, eq=False)
class Flow(FrozenValue):
    """The dataflow of a kernel."""

    dataflow: Dataflow
    cardinalities: Cardinalities
    same_schedule: Flow | None = field(default=None, compare=False, repr=False)  # its walk is reused

    @cached_property
    def _trips(self) -> Trips:
        return Trips(self.cardinalities)

    @cached_property
    def depth(self) -> Chain:
        """The longest chain of operations. Accesses and barriers only decide between equally long chains."""
        return self._chain(self._by_operations.state.path(LATEST).terms)

    @cached_property
    def _by_operations(self) -> Walk:
        if self.same_schedule is not None:
            return self.same_schedule._by_operations
        return self._walk(Rules(lambda operation: 1 if operation[0] in SHARED else TIE), with_arcs=True)

    @cached_property
    def _by_latency(self) -> Walk:
        if self.same_schedule is not None:
            return self.same_schedule._by_latency
        return self._walk(Rules(_latency), with_arcs=True)

    @cached_property
    def work(self) -> Chain:
        """All operations of a work-item, if each loop makes the most trips that any work-item makes."""
        return self._chain(self._work(self.cardinalities.program.schedule, launched=False))

    @cached_property
    def before_access(self) -> Chain:
        """All operations of a work-item before its first access to global memory, summed over launches.

        If a launch has no such access, all its operations count. The operations of the statement with the access count
        only if the statement loads nothing: a compiler moves a load up, and a store comes last.
        """
        terms = Counter[Term]()
        for node, loops in program.nodes_in(self.cardinalities.program.schedule):
            if isinstance(node, program.DeviceKernel):
                before = self._before_access(node.body)
                terms.update({(operation, (*loops, *nest)): amount for (operation, nest), amount in before.items()})
        return self._chain(terms)

    @cached_property
    def between_barriers(self) -> Chain:
        """The longest chain if no operation moves across a barrier, as a sum over the parts between barriers."""
        return self._longest(Rules(lambda operation: int(operation[1] != "barrier"), fenced=True))

    @cached_property
    def instruction_parallelism(self) -> Ratio:
        """The operations and accesses of a work-item, divided by those on the longest chain between barriers."""
        total, serial = (chain.operations() + chain.accesses() for chain in (self.work, self.between_barriers))
        return Ratio(total, (serial,))

    @cached_property
    def memory_parallelism(self) -> Ratio:
        """The mean number of global loads in flight: all loads, divided by the rounds in which they can be issued.

        Two loads are in different rounds if the address of one load depends on the other load. Loads also are in
        different rounds before and after a barrier, and in different iterations of a loop that is not unrolled.
        """
        rounds = self._longest(Rules(lambda operation: int(operation == GLOBAL_LOAD), fenced=True, in_order=True))
        return Ratio(self.work.accesses(*GLOBAL_LOAD), (rounds.accesses(*GLOBAL_LOAD),))

    @cached_property
    def dependences(self) -> tuple[Arc, ...]:
        """The dependences between statements, and of statements on their own earlier executions."""
        return tuple((self._by_operations.arcs or {}).values())

    @cached_property
    def recurrences(self) -> tuple[Recurrence, ...]:
        """The variables that loops carry from iteration to iteration.

        If a carried variable is in an index, as in ``c = table[c & 255] ^ (c >> 8)``, the longest chain is the one that
        takes most time.
        """
        carried = {(arc.carried, arc.variable) for arc in self.dependences}
        variables, reads = {name for _, name in carried}, (each for step in self.dataflow.steps for each in step.reads)
        loads = any(not {*LOADS}.isdisjoint(read.path[len(read.cell) > 0:]) for read in reads
                    if read.variable in variables)  # fmt: skip
        growths = (self._by_latency if loads else self._by_operations).growths
        return tuple(
            Recurrence(loop, variable, tuple(sorted(terms)), chains)
            for (loop, variable, terms), chains in growths.items() if (loop, variable) in carried
        )

    @cached_method
    def within(self, loop: str) -> Mapping[OpKind, Fraction]:
        """Return the operations on the chain that takes most time in one iteration of an innermost loop."""
        nodes = program.nodes_in(self.cardinalities.program.schedule)
        body = next(node.body for node, _ in nodes if isinstance(node, program.Loop) and node.iname == loop)
        walk = Walk(self.dataflow, self._trips, Rules(_latency))
        walk.block(body, Position(launched=True))
        amounts = defaultdict[OpKind, Fraction](Fraction)
        for (operation, nest), amount in walk.state.path(LATEST).terms.items():
            amounts[operation] += amount * self._trips.value(nest)
        return amounts

    def _walk(self, rules: Rules, with_arcs: bool = False) -> Walk:
        schedule, share = self.cardinalities.program.schedule, 0.0
        for effort in EFFORTS:
            walk = Walk(self.dataflow, self._trips, rules, arcs={} if with_arcs else None, effort=effort)
            last = effort == EFFORTS[-1]
            if share * walk.planned(schedule) > MOST_EXECUTIONS and not last:
                continue
            try:
                walk.whole(schedule, math.inf if last else MOST_EXECUTIONS)
                break
            except LongWalkError as error:
                share = error.share
        return walk

    def _longest(self, rules: Rules) -> Chain:
        return self._chain(self._walk(rules).state.path(LATEST).terms)

    def _chain(self, terms: Mapping[Term, int]) -> Chain:
        counts: dict[OpKind, Count] = {}
        for (operation, nest), amount in terms.items():
            part = amount * self._trips.count(nest)
            counts[operation] = counts[operation] + part if operation in counts else part
        return Chain(tuple(ChainRow(*operation, count) for operation, count in counts.items()))

    def _work(self, nodes: tuple[program.Node, ...], runs: int = 1, launched: bool = True) -> Counter[Term]:
        """Return all operations with their loop nests. A loop of few, constant trips multiplies amounts instead."""
        terms = Counter[Term]()
        for node in nodes:
            if isinstance(node, program.Run):
                step = self.dataflow.by_name.get(node.instruction)
                for where, kind, amount in () if step is None else step.operations:
                    terms[(where, kind), ()] += amount
            elif isinstance(node, program.Wait):
                if launched:
                    terms[(node.scope, "barrier"), ()] += 1
            elif isinstance(node, program.DeviceKernel):
                terms.update(self._work(node.body, runs))
            else:
                short, times = iterations(self._trips.span(node.iname), runs, node.iname in self.dataflow.unrolled)
                for (operation, nest), amount in self._work(node.body, runs * times, launched).items():
                    if short:
                        terms[operation, nest] += amount * times
                    else:
                        terms[operation, (node.iname, *nest)] += amount
        return terms

    def _before_access(self, nodes: tuple[program.Node, ...]) -> Counter[Term]:
        """Return the operations of sibling nodes before the first access in them."""
        terms = Counter[Term]()
        for node in nodes:
            if not self._has_access(node):
                terms.update(self._work((node,)))
            elif isinstance(node, program.Loop):
                terms.update(self._before_access(node.body))
                break
            else:
                added = self._work((node,))
                if (GLOBAL_LOAD, ()) not in added:
                    terms.update({term: amount for term, amount in added.items() if term[0] != ("global", "store")})
                break
        return terms

    def _has_access(self, node: program.Node) -> bool:
        steps = (self.dataflow.by_name.get(name) for name in program.instructions_in(node))
        kinds = (kind for step in steps if step for where, kind, _ in step.operations if where == "global")
        return any(kind != "barrier" for kind in kinds)
