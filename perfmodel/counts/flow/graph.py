"""The work flow graph of a kernel, before any device's latencies: Kim et al. 2012, section 4.2.2."""

from __future__ import annotations

from dataclasses import dataclass, field

from perfmodel.counts.flow.execution import Arc
from perfmodel.counts.flow.paths import Term
from perfmodel.counts.flow.trips import Nest
from perfmodel.counts.flow.walkthrough import Walkthrough
from perfmodel.counts.program.program import DeviceKernel, Loop, Node, Run, Step, Wait
from perfmodel.counts.quasipoly.count import Count


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
    loops: Nest
    executions: Count
    steps: tuple[Step, ...] = ()


@dataclass(frozen=True)
class Transition:
    """Control may pass from one node (by its position) to another.

    ``loop`` names the loop of which the arc leads back to the beginning; "" for any other arc.
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
    """Nodes in the order of the schedule, and the arcs of control and data between them.

    Attributes
    ----------
    nodes : tuple of FlowNode
        Parts of the schedule.
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


def flow_graph(walk: Walkthrough) -> FlowGraph:
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

    def block(self, nodes: tuple[Node, ...], loops: Nest, launch: str, last: list[int]) -> list[int]:
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

    def add_run(self, steps: list[Step], loops: Nest, launch: str, last: list[int]) -> list[int]:
        return self.add("run", loops, launch, last, tuple(steps)) if steps else last

    def add(
        self, kind: str, loops: Nest, launch: str, last: list[int], steps: tuple[Step, ...] = ()
    ) -> list[int]:
        """Add a node after the nodes ``last``."""
        place = len(self.nodes)
        self.nodes.append(FlowNode(kind, launch, loops, self.walk.trips.count(loops), steps))
        self.transitions += [Transition(k, place) for k in last]
        return [place]
