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
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike, NDArray

from perfmodel.counts.counters.executions import Cardinalities
from perfmodel.counts.flow.execution import LATEST, Arc, Arcs, Position, Rules
from perfmodel.counts.flow.paths import Term
from perfmodel.counts.flow.trips import LoopNest, Trips
from perfmodel.counts.flow.walkthrough import Walkthrough, before_access, work_of
from perfmodel.counts.program.program import SHARED, Act, Dataflow, DeviceKernel, Loop, Node, Run, Step, Wait
from perfmodel.counts.quasipoly.count import Count
from perfmodel.errors import CountError
from perfmodel.values import FrozenValue


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
        return self._sum(lambda row: row.is_operation and dtype in (None, row.where) and kind in (None, row.kind))

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
class FlowNode:
    """A part of the schedule without branches or loops.

    Attributes
    ----------
    kind : str
        ``"entry"`` or ``"exit"`` of a launch, ``"run"`` of statements, or ``"barrier"``.
    launch : str
        Name of the device kernel.
    loops : tuple of str
        The sequential loops around it, outermost first.
    executions : Count
        How often one work-item executes it, of granularity ``"chain"``.
    steps : tuple of Step
        The statements of a run, in order.
    """

    kind: str
    launch: str
    loops: LoopNest
    executions: Count
    steps: tuple[Step, ...] = ()


@dataclass(frozen=True)
class Transition:
    """Control may pass from one node to another, which are given by their positions.

    ``loop`` is the loop to whose beginning the arc leads back; "" for any other arc.
    """

    source: int
    target: int
    loop: str = ""


@dataclass(frozen=True, eq=False)
class Recurrence:
    """A variable that each iteration of a loop computes from its value in the iteration before.

    Attributes
    ----------
    loop, variable : str
        The loop, and the variable that is carried.
    acts : tuple of ((where, kind), loops), int
        The acts that one iteration adds to the chain, each at every run of inner loops.
    chains : int
        Cells of the variable that are carried side by side.
    """

    loop: str
    variable: str
    acts: tuple[tuple[Term, int], ...]
    chains: int


@dataclass(frozen=True, eq=False)
class FlowGraph:
    """The work flow graph of a kernel, before any device's latencies: Kim et al. 2012, section 4.2.2.

    Attributes
    ----------
    nodes : tuple of FlowNode
        Parts of the schedule, in its order.
    transitions : tuple of Transition
        Control. There is no arc around a loop, also where it may run no iteration.
    dependences : tuple of Arc
        Data, from the statement that stores a value to the statement that reads it.
    recurrences : tuple of Recurrence
        Variables that loops carry from iteration to iteration.
    """

    nodes: tuple[FlowNode, ...]
    transitions: tuple[Transition, ...]
    dependences: tuple[Arc, ...]
    recurrences: tuple[Recurrence, ...]


Costs = Mapping[str | Act, float]
TIE = 10**9  # what an operation costs over an access, which decides between equally many operations
GLOBAL_LOAD: Act = ("global", "load")
#: Rough latencies of a device that does not look ahead, over half that of an addition; stores are not waited for.
LATENCIES: Mapping[Act, int] = MappingProxyType(
    {GLOBAL_LOAD: 40, ("global", "store"): 0, ("local", "load"): 3, ("local", "store"): 0}
)
QUICK = ("add", "mul", "minmax", "shift", "bitwise", "barrier")
ADDITION, SLOW = 2, 16  # a division or a function is slow


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
    >>> [(row.kind, str(row.count)) for row in flow.chain().rows]
    [('load', '1'), ('mul', '1'), ('add', 'n'), ('store', '1')]
    >>> flow.memory_parallelism(n=1000)
    Fraction(2, 1)
    """

    dataflow: Dataflow
    cardinalities: Cardinalities
    alike: Flow | None = field(default=None, compare=False, repr=False)  # of the same schedule: its walk is used

    @cached_property
    def _trips(self) -> Trips:
        return Trips(self.cardinalities)

    @cached_property
    def depth(self) -> Chain:
        """The longest chain of operations, with the accesses and barriers on it.

        Sequential trips multiply, parallel inames enter once. Accesses and barriers decide only
        between chains of equally many operations.
        """
        return self._chain(self._by_operations.state.path(LATEST).terms)

    @cached_property
    def _by_operations(self) -> Walkthrough:
        """The walk of which both the depth and the graph are results."""
        if self.alike is not None:
            return self.alike._by_operations
        return self._walk(Rules(lambda act: 1 if act[0] in SHARED else TIE), arcs={})

    def chain(self, costs: Costs | None = None) -> Chain:
        """Return the longest chain of acts of a work-item, each of which waits for the one before.

        Parameters
        ----------
        costs : mapping, optional
            What an act costs, by its kind (``"rsqrt"``) or, before that, by type or space and kind (``("global",
            "load")``); 1 for an act that is not named. The longest chain is the costliest.

        Raises
        ------
        CountError
            A cost is negative or not finite.
        """
        costs = costs or {}
        for act, cost in costs.items():
            if not (math.isfinite(cost) and cost >= 0):
                raise CountError(
                    f"the cost of {act!r} is {cost!r}",
                    "give a finite number from 0 up, in any one unit, such as its latency in cycles",
                )
        exact = {act: Fraction(float(cost)) for act, cost in costs.items()}
        scale = math.lcm(*(cost.denominator for cost in exact.values()))
        whole = {act: int(cost * scale) for act, cost in exact.items()}  # sums of integers are exact
        return self._longest(Rules(lambda act: whole.get(act, whole.get(act[1], scale))))

    @cached_property
    def work(self) -> Chain:
        """All that a work-item does, the one with the longest loops."""
        return self._chain(work_of(self.dataflow, self._trips))

    @cached_property
    def before_access(self) -> Chain:
        """All that a work-item does before its first access to global memory, summed over launches."""
        return self._chain(before_access(self.dataflow, self._trips))

    @cached_property
    def between_barriers(self) -> Chain:
        """The longest chain where nothing moves across a barrier: the sum over the parts between."""
        return self._longest(Rules(lambda act: int(act[1] != "barrier"), fenced=True))

    @cached_property
    def in_order(self) -> Chain:
        """The longest chain on a device that does not look ahead, by rough latencies (:data:`LATENCIES`).

        A sub-group issues its instructions in order, and stops at the first that lacks an operand. So each iteration of
        a loop that is not unrolled waits for the iteration before it, and what comes after a barrier waits for all that
        is before it.
        """
        return self._longest(
            Rules(lambda act: LATENCIES.get(act, ADDITION if act[1] in QUICK else SLOW), fenced=True, in_order=True)
        )

    @cached_property
    def instruction_parallelism(self) -> Parallelism:
        """Operations and accesses of a work-item over those on its critical path between barriers."""
        return Parallelism(_instructions(self.work), _instructions(self.between_barriers))

    @cached_property
    def memory_parallelism(self) -> Parallelism:
        """Loads from global memory over the rounds in which they can be issued.

        Two loads are in different rounds where the address of one depends on the other, or where a barrier, or the end
        of an iteration of a loop that is not unrolled, lies between them. The ratio is the mean number of independent
        loads before the first of them is used, if the compiler moves each load as far up as its address and the
        straight-line code allow.
        """
        rounds = self._longest(Rules(lambda act: int(act == GLOBAL_LOAD), fenced=True, in_order=True))
        return Parallelism(self.work.accesses(*GLOBAL_LOAD), rounds.accesses(*GLOBAL_LOAD))

    @cached_property
    def graph(self) -> FlowGraph:
        """The statements and barriers with the arcs of control and of data between them."""
        return _flow_graph(self._by_operations)

    def _walk(self, rules: Rules, arcs: Arcs | None = None) -> Walkthrough:
        walk = Walkthrough(self.dataflow, self._trips, rules, arcs=arcs)
        walk.block(self.cardinalities.program.schedule, Position())
        return walk

    def _longest(self, rules: Rules) -> Chain:
        return self._chain(self._walk(rules).state.path(LATEST).terms)

    def _chain(self, terms: Mapping[Term, int]) -> Chain:
        counts: dict[Act, Count] = {}
        for (act, nest), amount in terms.items():
            part = amount * self._trips.count(nest)
            counts[act] = counts[act] + part if act in counts else part
        return Chain(tuple(ChainRow(*act, count) for act, count in counts.items()))


def _instructions(chain: Chain) -> Count:
    return chain.operations() + chain.accesses()


def _flow_graph(walk: Walkthrough) -> FlowGraph:
    """Return the graph of the kernel of a walk that noted arcs."""
    control = _Control(walk)
    control.block(walk.trips.program.schedule, (), "", [])
    arcs = tuple((walk.arcs or {}).values())
    carried = {(arc.carried, arc.variable) for arc in arcs}
    return FlowGraph(
        tuple(control.nodes), tuple(control.transitions), arcs,
        tuple(
            Recurrence(growth.loop, growth.variable, tuple(sorted(growth.terms)), chains)
            for growth, chains in walk.growths.items() if (growth.loop, growth.variable) in carried
        ),
    )


@dataclass
class _Control:
    """Collects nodes and transitions while the schedule is walked."""

    walk: Walkthrough
    nodes: list[FlowNode] = field(default_factory=list)
    transitions: list[Transition] = field(default_factory=list)

    def block(self, nodes: tuple[Node, ...], loops: LoopNest, launch: str, last: list[int]) -> list[int]:
        """Add siblings after the nodes ``last``; return the nodes after which control goes on."""
        steps: list[Step] = []
        for node in nodes:
            if isinstance(node, Run):
                step = self.walk.dataflow.by_name.get(node.instruction)
                steps += [] if step is None else [step]
                continue
            last, steps = self.add_run(steps, loops, launch, last), []
            if isinstance(node, Wait) and launch:
                last = self.add("barrier", loops, launch, last)
            elif isinstance(node, Loop):
                first = len(self.nodes)
                last = self.block(node.body, (*loops, node.iname), launch, last)
                if len(self.nodes) > first:
                    self.transitions += [Transition(k, first, node.iname) for k in last]
            elif isinstance(node, DeviceKernel):
                last = self.add("entry", loops, node.name, last)
                last = self.block(node.body, loops, node.name, last)
                last = self.add("exit", loops, node.name, last)
        return self.add_run(steps, loops, launch, last)

    def add_run(self, steps: list[Step], loops: LoopNest, launch: str, last: list[int]) -> list[int]:
        return self.add("run", loops, launch, last, tuple(steps)) if steps else last

    def add(self, kind: str, loops: LoopNest, launch: str, last: list[int], steps: tuple[Step, ...] = ()) -> list[int]:
        """Add a node after the nodes ``last``."""
        place = len(self.nodes)
        self.nodes.append(FlowNode(kind, launch, loops, self.walk.trips.count(loops), steps))
        self.transitions += [Transition(k, place) for k in last]
        return [place]
