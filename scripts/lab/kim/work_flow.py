"""The work flow graph of Baghsorkhi et al., in Kim et al. 2012, section 4.2.2, and its timeline on a device.

A node is a step of the schedule, as an average sub-group executes it: accesses to global or to local memory, a
barrier, or the operations of a statement. Transition arcs lead from a node to the node that is executed next;
data-dependence arcs lead from a load, or a result, to its use.

:func:`timeline` gives the time at which such a sub-group, alone on a compute unit, executes each node. With the
latencies of a device a transition takes the time to issue its source, and a dependence the time from the source's start
to the value's arrival. Instructions are issued in order; an instruction that needs a value waits for it. Up to three
iterations of each loop are followed; the last one represents all that remain.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import ceil

from perfmodel.counts import KernelCounts
from perfmodel.counts.flow.flow import Flow
from perfmodel.counts.program.program import SHARED, OpKind, Read, Step
from perfmodel.facts import DeviceFacts
from perfmodel.quantities.case import missing_fact
from perfmodel.quantities.instructions import ORDINARY
from perfmodel.quantities.traffic import TRANSFER_FACTS
from scripts.lab.kim.control_flow import Averages, FlowNode, control_flow

LOADS = (("global", "load"), ("local", "load"))
LINE_BYTES, BANKS = 64, 32
"""A transaction and the banks of local memory where a device does not give them."""


@dataclass(frozen=True)
class WorkNode:
    """A step of the schedule."""

    kind: str  # ``entry``, ``exit``, ``barrier``, ``global``, ``local`` or ``compute``
    statement: str  # the statement that it belongs to, or the name of the launch
    loops: tuple[str, ...]  # the loops around it, outermost first
    executions: float  # how often a sub-group executes it, on average over the launch
    passes: tuple[float, ...] = ()  # how often the body of each loop is executed, on average
    acts: tuple[tuple[OpKind, int], ...] = ()  # the acts of one execution, each with its number
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
    path: tuple[OpKind, ...] = ()  # the target's acts between the value's arrival and its own result


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


def work_flow_on(counts: KernelCounts, sizes: Mapping[str, int], facts: DeviceFacts | None) -> WorkFlow:
    """Return the graph with a device's transactions and ``banks``, as far as its facts give them."""
    known = {} if facts is None else {key: fact.value for key, fact in facts.facts}
    line = next((known[key] for key in TRANSFER_FACTS if key in known), LINE_BYTES)
    return work_flow(counts, sizes, int(line), int(known.get("banks", BANKS)))  # type: ignore[arg-type]  # numbers


def work_flow(
    counts: KernelCounts, sizes: Mapping[str, int], line_bytes: int = LINE_BYTES, banks: int = BANKS
) -> WorkFlow:
    """Return the work flow graph of an average sub-group at the sizes.

    One transaction with global memory is of `line_bytes`; local memory has so many `banks`. Raises SizeError if a size
    is missing or breaks the assumptions.

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
    building = _Building(counts, counts.flow, sizes, line_bytes, banks)
    for number, node in enumerate(building.flow_nodes):
        building.add(number, node)
    return WorkFlow(counts.name, tuple(building.nodes), tuple(building.transitions()), tuple(building.dependences()))


class _Building:
    """The work flow graph while it is built: each statement becomes loads, operations and a store."""

    def __init__(
        self, counts: KernelCounts, flow: Flow, sizes: Mapping[str, int], line_bytes: int, banks: int
    ) -> None:
        self.counts, self.sizes, self.flow = counts, sizes, flow
        self.flow_nodes, self.flow_transitions = control_flow(flow)
        self.line_bytes, self.banks = line_bytes, banks
        self.averages = Averages(flow.cardinalities, sizes)
        self.arrays = {(row.space, row.array) for row in counts.access_table}
        self.nodes: list[WorkNode] = []
        self.parts: dict[int, range] = {}  # of each node of the dataflow graph
        self.roles: dict[str, dict[str, int]] = {}  # of each statement: loads, compute, store
        self.inner: list[Dependence] = []

    def add(self, number: int, node: FlowNode) -> None:
        first = len(self.nodes)
        times = self.averages.executions(node.launch, node.loops)
        if node.kind == "run":
            for step in node.steps:
                guarded = self.averages.executions(node.launch, node.loops, step.name) if step.guarded else times
                self.add_step(step, node, guarded)
        else:
            acts = ((("local", "barrier"), 1),) if node.kind == "barrier" else ()
            self.nodes.append(WorkNode(node.kind, node.launch, node.loops, times, self.passes(node), acts))
        self.parts[number] = range(first, len(self.nodes))

    def add_step(self, step: Step, node: FlowNode, times: float) -> None:
        roles = self.roles[step.name] = {}

        def part(role: str, kind: str, acts: Iterable[tuple[OpKind, int]], arrays: Iterable[str] = ()) -> None:
            acts, arrays = tuple(acts), tuple(dict.fromkeys(arrays))
            if acts:
                roles[role] = len(self.nodes)
                serial = max([self.serial(array, kind, acts[0][0][1]) for array in arrays], default=1.0)
                passes = self.passes(node)
                self.nodes.append(WorkNode(kind, step.name, node.loops, times, passes, acts, arrays, serial))

        operations = [((where, kind), amount) for where, kind, amount in step.operations]
        for load in LOADS:
            loaded = [r.variable for r in step.reads if self.load_of(r) == load]
            part(f"{load[0]} load", load[0], [row for row in operations if row[0] == load], loaded)
        part("compute", "compute", [row for row in operations if row[0][0] not in SHARED])
        for space in SHARED:
            stored = [w.variable for w in step.writes if w.space == space]
            part("store", space, [row for row in operations if row[0] == (space, "store")], stored)
        self.inner += list(self.inside(step, roles))

    def load_of(self, reading: Read) -> OpKind | None:
        """Return the load that a value comes from; None of a temporary, also where it is the index of a load."""
        act = reading.path[0] if reading.path else None
        return act if act in LOADS and (act[0], reading.variable) in self.arrays else None

    def passes(self, node: FlowNode) -> tuple[float, ...]:
        """Return how often the body of each loop around a node is executed."""
        depths = range(1, len(node.loops) + 1)
        return tuple(self.averages.executions(node.launch, node.loops[:depth]) for depth in depths)

    def inside(self, step: Step, roles: Mapping[str, int]) -> Iterable[Dependence]:
        """Yield the arcs from a statement's loads to its operations, and from these to its store.

        A value that only a guard loads has no node.
        """
        last = roles.get("compute", roles.get("store"))
        for reading in step.reads:
            load = self.load_of(reading)
            source = None if load is None else roles.get(f"{load[0]} load")
            if source is not None and last is not None:
                loaded = max(k for k, act in enumerate(reading.path) if act in LOADS)
                yield Dependence(source, last, reading.variable, "", reading.path[loaded + 1:])
        if "compute" in roles and "store" in roles:
            yield Dependence(roles["compute"], roles["store"], step.writes[0].variable, "")

    def dependences(self) -> Iterable[Dependence]:
        """Return the data-dependence arcs: for each variable between two nodes, the arc with the longest path."""
        arcs = list(self.inner)
        for arc in self.flow.dependences:
            source = max(self.roles[arc.source].values(), default=None)
            target = self.target(arc.target, arc.path)
            if source is not None and target is not None:
                path = arc.path if self.nodes[target].kind == "compute" else ()
                arcs.append(Dependence(source, target, arc.variable, arc.carried, path))
        longest: dict[tuple[int, int, str, str], Dependence] = {}
        for value in arcs:
            key = (value.source, value.target, value.variable, value.carried)
            if key not in longest or len(longest[key].path) < len(value.path):
                longest[key] = value
        return longest.values()

    def target(self, statement: str, path: tuple[OpKind, ...]) -> int | None:
        """Return the part of a statement that a value goes to first."""
        roles = self.roles[statement]
        for act in path:
            if act in LOADS and f"{act[0]} load" in roles:
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
        for arc in self.flow_transitions:
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
            turns = self.counts.bank_conflicts(array, self.banks, direction)
        else:
            turns = self.counts.lines(array, self.line_bytes, "instance", direction, **self.sizes)
        return max(float(turns(**self.sizes)) / accesses, 1.0) if accesses else 1.0


@dataclass(frozen=True)
class Latencies:
    """The latencies of a device [s]: the time from the start of an act to its result."""

    issue_s: float  # time to issue an instruction of a sub-group
    # arithmetic_s, special_s: latency of an operation, and of a special function.
    arithmetic_s: float
    special_s: float
    # memory_s, local_s: latency of a load from global memory, and from local memory.
    memory_s: float
    local_s: float
    barrier_s: float  # latency of a barrier
    departure_s: float  # time between two transactions of one access to global memory

    @classmethod
    def of(cls, facts: DeviceFacts | None, subgroup_size: int) -> Latencies:
        """Return a device's latencies; raise FactsError if one, and every fact that replaces it, is unknown.

        They are the facts ``issue_s`` (else subgroup_size / (lanes_per_unit clock_hz)), ``arithmetic_latency_s`` (else
        ``register_latency_s``), ``special_latency_s`` (else that of arithmetic), ``memory_latency_s``,
        ``local_latency_s``, ``barrier_latency_s`` (else an issue) and ``departure_uncoalesced_s`` (else
        ``departure_coalesced_s``, else an issue).
        """
        known = {} if facts is None else {key: fact.value for key, fact in facts.facts}

        def first(*keys: str, default: float | None = None) -> float:
            for key in keys:
                if key in known:
                    return float(known[key])  # type: ignore[arg-type]  # those asked for are numbers
            if default is None:
                raise missing_fact(keys[0], "work_flow_graph", facts)
            return default

        lanes = first("lanes_per_unit", default=0.0) * first("clock_hz", default=0.0)
        issue = first("issue_s", default=subgroup_size / lanes if lanes else None)
        arithmetic = first("arithmetic_latency_s", "register_latency_s")
        return cls(
            issue, arithmetic, first("special_latency_s", default=arithmetic), first("memory_latency_s"),
            first("local_latency_s"), first("barrier_latency_s", default=issue),
            first("departure_uncoalesced_s", "departure_coalesced_s", default=issue),
        )

    def of_act(self, act: OpKind) -> float:
        """Return the latency of an act; nothing waits for a store to global memory."""
        where, kind = act
        if kind == "barrier":
            return self.barrier_s
        if where == "global":
            return self.memory_s if kind == "load" else 0.0
        if where == "local":
            return self.local_s
        return self.arithmetic_s if kind in ORDINARY else self.special_s


FOLLOWED = 3
"""Most iterations of a loop that are followed."""


@dataclass(frozen=True)
class Timeline:
    """The time of one average sub-group and its parts, in seconds."""

    seconds: float  # the whole time: issuing and waiting
    issued: tuple[float, ...]  # for each node the time to issue its instructions, over all its executions
    stalled: tuple[float, ...]  # for each node the time that it waits for values
    waits: tuple[tuple[Dependence, float], ...]  # longest first; an arc to a barrier has no variable
    critical: frozenset[tuple[int, int, bool]]  # arcs on the critical path: source, target, if it is a dependence

    @property
    def hiding(self) -> float:
        """Number of sub-groups on one scheduler whose instructions fill all waits: 1 + stalled/issued."""
        issued = sum(self.issued)
        return 1.0 + sum(self.stalled) / issued if issued else 1.0


def timeline(graph: WorkFlow, latencies: Latencies) -> Timeline:
    r"""Follow an average sub-group through its graph.

    A node begins when the node before it is issued and its values have arrived:
    :math:`b_t = \max(b_s + i_s, \max_a (r_a + l_a) - l_t)`, with :math:`i` the time to issue, :math:`r_a` the arrival
    of the value of arc a, :math:`l_a` the latency from there to the node's result and :math:`l_t` the longest of these;
    the result arrives at :math:`b_t + l_t`. A barrier waits for all accesses before it.
    """
    walk = _Walk(graph, latencies)
    walk.block(range(len(graph.nodes)), 0, 1.0)
    return walk.timeline()


class _Walk:
    """The clock of a sub-group, and the events so far."""

    def __init__(self, graph: WorkFlow, latencies: Latencies) -> None:
        self.nodes, self.latencies = graph.nodes, latencies
        self.clock = 0.0
        self.events: list[tuple[int, int, bool]] = []  # each a node, the event before, and if its value was waited for
        self.latest: dict[int, int] = {}  # the last event of each node
        self.ready: dict[int, float] = {}  # when its result arrives
        self.issued, self.stalled = [0.0] * len(graph.nodes), [0.0] * len(graph.nodes)
        self.waits: dict[Dependence, float] = defaultdict(float)
        self.incoming: dict[int, list[Dependence]] = defaultdict(list)
        for arc in graph.dependences:
            self.incoming[arc.target].append(arc)

    def block(self, places: range, depth: int, weight: float) -> None:
        """Execute the nodes in the same ``depth`` loops; each execution represents ``weight`` of them."""
        k = places.start
        while k < places.stop:
            end = k + 1
            if len(self.nodes[k].loops) <= depth:
                self.step(k, weight)
            else:
                nest = self.nodes[k].loops[:depth + 1]
                while end < places.stop and self.nodes[end].loops[:depth + 1] == nest:
                    end += 1
                self.loop(range(k, end), depth, weight)
            k = end

    def loop(self, places: range, depth: int, weight: float) -> None:
        """Execute a loop: a few iterations, of which the last one represents all that remain."""
        passes = (1.0, *self.nodes[places.start].passes)
        trips = passes[depth + 1] / passes[depth] if passes[depth] else 0.0
        if not trips:
            return
        followed = max(1, min(FOLLOWED, ceil(trips - 1e-9)))
        begin = self.clock
        for k in range(followed):
            begin = self.clock
            self.block(places, depth + 1, weight * (trips - k if k == followed - 1 else 1.0))
        rest = (self.clock - begin) * (trips - followed)
        self.clock += rest
        for k in places:
            if k in self.ready:
                self.ready[k] += rest

    def step(self, k: int, weight: float) -> None:
        """Execute one node: wait for its values, issue it, and record when its result arrives."""
        node = self.nodes[k]
        share = node.executions / node.passes[-1] if node.passes and node.passes[-1] else min(node.executions, 1.0)
        issue, latency, arcs = self.costs(k, node)
        begin, cause = self.clock, None
        for arc, after in arcs:
            arrival = self.ready.get(arc.source, 0.0) + after - latency
            if arrival > begin:
                begin, cause = arrival, arc
        stall = begin - self.clock
        before = len(self.events) - 1 if cause is None else self.latest[cause.source]
        self.events.append((k, before, cause is not None))
        self.latest[k] = len(self.events) - 1
        self.ready[k] = begin + latency + (issue - self.latencies.issue_s if node.kind in SHARED else 0.0)
        self.clock += share * (stall + issue)
        self.issued[k] += weight * share * issue
        self.stalled[k] += weight * share * stall
        if cause is not None:
            self.waits[cause] += weight * share * stall

    def costs(self, k: int, node: WorkNode) -> tuple[float, float, list[tuple[Dependence, float]]]:
        """Return the time to issue, the latency, and for each value the latency from its arrival to the result."""
        device, arcs = self.latencies, self.incoming[k]
        if node.kind == "barrier":
            accesses = [n for n in self.ready if self.nodes[n].kind in SHARED]
            return device.barrier_s, 0.0, [(Dependence(n, k, "", ""), 0.0) for n in accesses]
        if node.kind not in SHARED and node.kind != "compute":
            return 0.0, 0.0, []
        latency = max(device.of_act(act) for act, _ in node.acts)
        if node.kind == "compute":
            after = [(arc, sum(map(device.of_act, arc.path))) for arc in arcs]
            return node.instructions * device.issue_s, max([latency, *(length for _, length in after)]), after
        turn = device.issue_s + (node.serial - 1) * (device.departure_s if node.kind == "global" else device.issue_s)
        return node.instructions * turn, latency, [(arc, latency) for arc in arcs]

    def timeline(self) -> Timeline:
        """Return the times, and the critical path: back from the end along the arcs that nodes waited for."""
        critical: set[tuple[int, int, bool]] = set()
        event = len(self.events) - 1
        while event > 0:
            node, before, waited = self.events[event]
            critical.add((self.events[before][0], node, waited))
            event = before
        waits = sorted(self.waits.items(), key=lambda item: -item[1])
        return Timeline(self.clock, tuple(self.issued), tuple(self.stalled), tuple(waits), frozenset(critical))
