"""When an average sub-group, alone on a compute unit, executes each node of its work flow graph.

Instructions are issued in order; an instruction that needs a value waits for it. Up to three
iterations of each loop are followed; the last one stands for all that remain. Latencies of acts are in seconds.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING

from perfmodel.analyses.work_flow import Dependence, WorkFlow, WorkNode
from perfmodel.counts.program.program import SHARED
from perfmodel.errors import MissingFactError
from perfmodel.features import PLAIN_KINDS

if TYPE_CHECKING:
    from perfmodel.counts.program.program import Act
    from perfmodel.facts import DeviceFacts

#: Kinds of operations that the arithmetic units execute; any other is a special function.
ORDINARY = frozenset({*PLAIN_KINDS, "madd"}) - {"div", "pow"}


@dataclass(frozen=True)
class Latencies:
    """The latencies of a device [s]: the time from the start of an act to its result."""

    issue_s: float  # time to issue an instruction of a sub-group
    arithmetic_s: float  # of an operation
    special_s: float  # of a special function
    memory_s: float  # of a load from global memory
    local_s: float  # of a load from local memory
    barrier_s: float
    departure_s: float  # time between two transactions of one access to global memory

    @classmethod
    def of(cls, facts: DeviceFacts | None, subgroup_size: int) -> Latencies:
        """Return a device's latencies.

        They are the facts ``issue_s`` (else subgroup_size / (lanes_per_unit clock_hz)),
        ``arithmetic_latency_s`` (else ``register_latency_s``), ``special_latency_s`` (else that of
        arithmetic), ``memory_latency_s``, ``local_latency_s``, ``barrier_latency_s`` (else an issue) and
        ``departure_uncoalesced_s`` (else ``departure_coalesced_s``, else an issue).

        Raises
        ------
        MissingFactError
            If a latency is not known, nor another fact that replaces it.
        """
        known = {} if facts is None else {key: fact.value for key, fact in facts.facts}
        name = "" if facts is None else facts.name

        def first(*keys: str, default: float | None = None) -> float:
            for key in keys:
                if key in known:
                    return float(known[key])  # type: ignore[arg-type]  # those asked for are numbers
            if default is None:
                raise MissingFactError(keys[0], "work_flow_graph", name)
            return default

        lanes = first("lanes_per_unit", default=0.0) * first("clock_hz", default=0.0)
        issue = first("issue_s", default=subgroup_size / lanes if lanes else None)
        arithmetic = first("arithmetic_latency_s", "register_latency_s")
        return cls(
            issue, arithmetic, first("special_latency_s", default=arithmetic), first("memory_latency_s"),
            first("local_latency_s"), first("barrier_latency_s", default=issue),
            first("departure_uncoalesced_s", "departure_coalesced_s", default=issue),
        )

    def of_act(self, act: Act) -> float:
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
    :math:`b_t = \max(b_s + i_s, \max_a (r_a + l_a) - l_t)`, with :math:`i` the time to issue, :math:`r_a`
    the arrival of the value of arc a, :math:`l_a` the latency from there to the node's result and
    :math:`l_t` the longest of these; the result arrives at :math:`b_t + l_t`. A barrier waits for all
    accesses before it.
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
        """Execute the nodes in the same ``depth`` loops; each execution stands for ``weight`` of them."""
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
        """Execute a loop: a few iterations, of which the last one stands for all that remain."""
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
        one, arcs = self.latencies, self.incoming[k]
        if node.kind == "barrier":
            open_ = [n for n in self.ready if self.nodes[n].kind in SHARED]
            return one.barrier_s, 0.0, [(Dependence(n, k, "", ""), 0.0) for n in open_]
        if node.kind == "compute":
            after = [(arc, sum(map(one.of_act, arc.path))) for arc in arcs]
            alone = max(one.of_act(act) for act, _ in node.acts)
            return node.instructions * one.issue_s, max([alone, *(length for _, length in after)]), after
        if node.kind not in SHARED:
            return 0.0, 0.0, []
        turn = one.issue_s + (node.serial - 1) * (one.departure_s if node.kind == "global" else one.issue_s)
        latency = max(one.of_act(act) for act, _ in node.acts)
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
