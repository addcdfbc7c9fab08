"""Latencies of the acts of a sub-group on a device, in seconds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from perfmodel.errors import MissingFactError
from perfmodel.features.names import PLAIN_KINDS

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
