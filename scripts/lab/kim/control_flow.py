"""The control flow of a kernel's schedule, and how often an average sub-group executes each part of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache

from perfmodel.counts.counters.executions import Cardinalities
from perfmodel.counts.flow.flow import Flow
from perfmodel.counts.flow.trips import LoopNest, Trips
from perfmodel.counts.program.program import Dataflow, DeviceKernel, Domain, Loop, Node, Run, Step, Wait
from scripts.lab.kim.places import access_places


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
    steps : tuple of Step
        The statements of a run, in order.
    """

    kind: str
    launch: str
    loops: LoopNest
    steps: tuple[Step, ...] = ()


@dataclass(frozen=True)
class Transition:
    """Control may pass from one node to another; ``loop`` is the loop that starts its next iteration, or ""."""

    source: int
    target: int
    loop: str = ""


def control_flow(flow: Flow) -> tuple[list[FlowNode], list[Transition]]:
    """Return the nodes of a kernel in the order of its schedule, and the transitions between them."""
    control = _Control(flow.dataflow)
    control.block(flow.cardinalities.program.schedule, (), "", [])
    return control.nodes, control.transitions


@dataclass
class _Control:
    """Collects nodes and transitions in the order of the schedule."""

    dataflow: Dataflow
    nodes: list[FlowNode] = field(default_factory=list)
    transitions: list[Transition] = field(default_factory=list)

    def block(self, nodes: tuple[Node, ...], loops: LoopNest, launch: str, last: list[int]) -> list[int]:
        """Add sibling nodes after the nodes ``last``; return the nodes after which control continues."""
        steps: list[Step] = []
        for node in nodes:
            if isinstance(node, Run):
                step = self.dataflow.by_name.get(node.instruction)
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
        position = len(self.nodes)
        self.nodes.append(FlowNode(kind, launch, loops, steps))
        self.transitions += [Transition(k, position) for k in last]
        return [position]


class Averages:
    """Executions by the sub-groups of one launch over their number, at fixed sizes.

    A loop nest counts as often as its most executed statement. A guarded statement counts as often as its accesses to
    global memory, or, without such accesses, as often as its nest.
    """

    def __init__(self, cardinalities: Cardinalities, sizes: Mapping[str, int]) -> None:
        self.cardinalities, self.sizes, self.program = cardinalities, sizes, cardinalities.program
        self.trips = Trips(cardinalities)
        self.launches = {launch.name: k for k, launch in enumerate(self.program.launches)}
        self.places = {k: access_places(self.program, k) for k in self.launches.values()}
        self.sub_groups = {k: self._sub_groups(k) for k in self.launches.values()}
        self.executions = cache(self._executions)

    def _executions(self, launch: str, loops: LoopNest, statement: str = "") -> float:
        """Return the average of a nest of the launch, or of a guarded statement in it."""
        number = self.launches.get(launch)
        if number is None:  # the nest is outside of launches
            return float(self.trips.count(loops)(**self.sizes))
        places = [place for place in self.places[number] if statement and place.statement == statement]
        guarded = {id(place.domain): place.domain for place in places}
        domains = (statement.domain for statement in self.program.statements)
        inside = [
            domain for domain in domains
            if domain.launch == number and self.trips.around.keys() & domain.names == set(loops)
        ]
        most = self._most(number, guarded.values() or inside)
        return float(self.trips.count(loops)(**self.sizes)) if most is None else most

    def _most(self, launch: int, domains: Iterable[Domain]) -> float | None:
        numbers = [float(self.cardinalities.count(domain, "subgroup")(**self.sizes)) for domain in domains]
        return max(numbers) / self.sub_groups[launch] if numbers and self.sub_groups[launch] else None

    def _sub_groups(self, launch: int) -> float:
        """Return the sub-groups of one execution of the launch."""
        repeats = float(self.cardinalities.repeats(launch)(**self.sizes))
        groups = float(self.cardinalities.work_groups(launch)(**self.sizes))
        size = self.program.launches[launch].group_size
        return -(-size // self.cardinalities.subgroup_size) * groups / max(repeats, 1.0)
