"""The work flow graph of Baghsorkhi et al., in Kim et al. 2012, section 4.2.2.

A node is a step of the schedule, as an average sub-group executes it: accesses to global or to local
memory, a barrier, or the operations of a statement. Transition arcs lead from a node to the node that
is executed next; data-dependence arcs lead from a load, or a result, to its use. With the latencies of
a device a transition takes the time to issue its source, and a dependence the time from the source's
start to the value's arrival (:mod:`perfmodel.analyses.timeline`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from perfmodel.counts.flow.trips import Averages
from perfmodel.counts.program.program import SHARED, Act, Reading, Step
from perfmodel.errors import FlowUnknownError

if TYPE_CHECKING:
    from perfmodel.counts import KernelCounts
    from perfmodel.counts.flow.flow import Flow, FlowNode

LOADS = (("global", "load"), ("local", "load"))


@dataclass(frozen=True)
class WorkNode:
    """A step of the schedule."""

    kind: str  # ``entry``, ``exit``, ``barrier``, ``global``, ``local`` or ``compute``
    statement: str  # the statement that it belongs to, or the name of the launch
    loops: tuple[str, ...]  # the loops around it, outermost first
    executions: float  # how often a sub-group executes it, on average over the launch
    passes: tuple[float, ...] = ()  # how often the body of each loop is executed, on average
    acts: tuple[tuple[Act, int], ...] = ()  # the acts of one execution, each with its number
    arrays: tuple[str, ...] = ()  # the arrays accessed
    serial: float = 1.0  # transactions of a global access, or turns of a local one (bank conflicts)

    @property
    def instructions(self) -> int:
        """Instructions of a sub-group at each execution."""
        return sum(amount for _, amount in self.acts)


@dataclass(frozen=True)
class Dependence:
    """A value that one node computes or loads and another needs."""

    source: int  # position of the node that gives the value
    target: int  # position of the node that needs it
    variable: str  # the variable that holds it
    carried: str  # the outermost loop between whose iterations it passes, or ""
    path: tuple[Act, ...] = ()  # the target's acts between the value's arrival and its own result


@dataclass(frozen=True)
class WorkFlow:
    """Nodes in the order of the schedule, and arcs between their positions.

    ``transitions`` are (source, target, loop); ``loop`` names the loop to whose start an arc leads
    back, and is "" for all other arcs.
    """

    name: str
    nodes: tuple[WorkNode, ...]
    transitions: tuple[tuple[int, int, str], ...]
    dependences: tuple[Dependence, ...]


def work_flow(counts: KernelCounts, sizes: Mapping[str, int], line_bytes: int = 64) -> WorkFlow:
    """Return the work flow graph of an average sub-group at the sizes.

    One transaction with global memory is of `line_bytes`.

    Raises
    ------
    FlowUnknownError
        If the counts were stored before dataflow was recorded.
    ParameterError, AssumptionError
        If a size is missing or breaks the assumptions.

    Examples
    --------
    >>> import loopy as lp, numpy as np
    >>> from perfmodel.counts import count
    >>> scale = lp.make_kernel("{ [i]: 0 <= i < n }", "y[i] = 2*x[i]", assumptions="n >= 1",
    ...                        lang_version=(2018, 2))
    >>> scale = lp.split_iname(scale, "i", 64, outer_tag="g.0", inner_tag="l.0")
    >>> graph = work_flow(count(lp.add_dtypes(scale, {"x": np.float32})), {"n": 6400})
    >>> [node.kind for node in graph.nodes]
    ['entry', 'global', 'compute', 'global', 'exit']
    >>> [(arc.source, arc.target, arc.variable) for arc in graph.dependences]
    [(1, 2, 'x'), (2, 3, 'y')]
    """
    if counts.flow is None:
        raise FlowUnknownError(counts.name)
    building = _Building(counts, counts.flow, sizes, line_bytes)
    for number, node in enumerate(building.graph.nodes):
        building.add(number, node)
    return WorkFlow(counts.name, tuple(building.nodes), tuple(building.transitions()), tuple(building.dependences()))


class _Building:
    """The work flow graph while it is built: each statement becomes loads, operations and a store."""

    def __init__(self, counts: KernelCounts, flow: Flow, sizes: Mapping[str, int], line_bytes: int) -> None:
        self.counts, self.sizes, self.line_bytes, self.graph = counts, sizes, line_bytes, flow.graph
        self.averages = Averages(flow.cardinalities, sizes)
        self.nodes: list[WorkNode] = []
        self.parts: dict[int, range] = {}  # of each node of the dataflow graph
        self.roles: dict[str, dict[str, int]] = {}  # of each statement: loads, compute, store
        self.inner: list[Dependence] = []

    def add(self, number: int, node: FlowNode) -> None:
        first = len(self.nodes)
        times = self.averages.executions(node.launch, node.loops)
        if node.kind == "run":
            for step in node.steps:
                own = self.averages.executions(node.launch, node.loops, step.name) if step.guarded else times
                self.add_step(step, node, own)
        else:
            acts = ((("local", "barrier"), 1),) if node.kind == "barrier" else ()
            self.nodes.append(WorkNode(node.kind, node.launch, node.loops, times, self.passes(node), acts))
        self.parts[number] = range(first, len(self.nodes))

    def add_step(self, step: Step, node: FlowNode, times: float) -> None:
        roles = self.roles[step.name] = {}

        def part(role: str, kind: str, acts: Iterable[tuple[Act, int]], arrays: Iterable[str] = ()) -> None:
            acts, arrays = tuple(acts), tuple(dict.fromkeys(arrays))
            if acts:
                roles[role] = len(self.nodes)
                serial = max([self.serial(array, kind, acts[0][0][1]) for array in arrays], default=1.0)
                self.nodes.append(WorkNode(
                    kind, step.name, node.loops, times, self.passes(node), acts, arrays, serial
                ))

        for load in LOADS:
            loaded = [r.variable for r in step.readings if r.path[:1] == (load,)]
            part(f"{load[0]} load", load[0], [row for row in step.acts if row[0] == load], loaded)
        part("compute", "compute", [row for row in step.acts if row[0][0] not in SHARED])
        for space in SHARED:
            stored = [w.variable for w in step.writings if w.space == space]
            part("store", space, [row for row in step.acts if row[0] == (space, "store")], stored)
        self.inner += list(self.inside(step, roles))

    def passes(self, node: FlowNode) -> tuple[float, ...]:
        """Return how often the body of each loop around a node is executed."""
        return tuple(
            self.averages.executions(node.launch, node.loops[:depth + 1]) for depth in range(len(node.loops))
        )

    def inside(self, step: Step, roles: Mapping[str, int]) -> Iterable[Dependence]:
        """Yield the arcs from a statement's loads to its operations, and from these to its store."""
        last = roles.get("compute", roles.get("store"))
        for reading in step.readings:
            if reading.path[:1] and reading.path[0] in LOADS and last is not None:
                source = roles[f"{reading.path[0][0]} load"]
                yield Dependence(source, last, reading.variable, "", _after_loads(reading))
        if "compute" in roles and "store" in roles:
            yield Dependence(roles["compute"], roles["store"], step.writings[0].variable, "")

    def dependences(self) -> Iterable[Dependence]:
        """Return the data-dependence arcs: for each variable between two nodes, the arc with the longest path."""
        arcs = list(self.inner)
        for arc in self.graph.dependences:
            source, target = _last(self.roles[arc.source]), self.target(arc.target, arc.path)
            if source is not None and target is not None:
                path = arc.path if self.nodes[target].kind == "compute" else ()
                arcs.append(Dependence(source, target, arc.variable, arc.carried, path))
        found: dict[tuple[int, int, str, str], Dependence] = {}
        for one in arcs:
            key = (one.source, one.target, one.variable, one.carried)
            if key not in found or len(found[key].path) < len(one.path):
                found[key] = one
        return found.values()

    def target(self, statement: str, path: tuple[Act, ...]) -> int | None:
        """Return the part of a statement that a value goes to first."""
        roles = self.roles[statement]
        for act in path:
            if act in LOADS:
                return roles[f"{act[0]} load"]
        return roles.get("compute", roles.get("store"))

    def transitions(self) -> Iterable[tuple[int, int, str]]:
        """Yield the transition arcs: through each part, and from part to part."""
        for number, part in self.parts.items():
            yield from ((k, k + 1, "") for k in part[:-1])
            if part:
                yield from ((part[-1], target, loop) for target, loop in dict.fromkeys(self.following(number, "")))

    def following(self, number: int, loop: str) -> Iterable[tuple[int, str]]:
        """Yield the nodes after a node of the dataflow graph; nodes without any act are skipped."""
        for arc in self.graph.transitions:
            if arc.source == number and not (loop and arc.loop):
                target = self.parts[arc.target]
                if target:
                    yield target[0], loop or arc.loop
                else:
                    yield from self.following(arc.target, loop or arc.loop)

    def serial(self, array: str, space: str, direction: str) -> float:
        """Return how many turns one access by a sub-group takes."""
        accesses = float(self.counts.accesses(space, direction, array, granularity="subgroup")(**self.sizes))
        if space == "local":
            turns = self.counts.bank_conflicts(array, direction=direction)
        else:
            turns = self.counts.lines(array, self.line_bytes, "instance", direction, **self.sizes)
        return max(float(turns(**self.sizes)) / accesses, 1.0) if accesses else 1.0


def _after_loads(reading: Reading) -> tuple[Act, ...]:
    """Return the acts of a statement on a value after it is loaded."""
    last = max(k for k, act in enumerate(reading.path) if act in LOADS)
    return reading.path[last + 1:]


def _last(roles: Mapping[str, int]) -> int | None:
    return max(roles.values(), default=None)
