"""How long the operations on a chain are waited for, and by how much: latencies in those of an addition of float32."""

from __future__ import annotations

from collections.abc import Mapping

from perfmodel.quantities.bottleneck.compiled import INTEGER, LOAD
from perfmodel.quantities.instructions import SIMPLE

WINDOW = 160.0
"""Instructions that an out-of-order core looks ahead.

With half and twice as many, groups that are left out are predicted about as well on PoCL (25.2 and 25.9 % instead of
25.5 %) and worse on Intel's runtime (16.7 and 16.6 % instead of 15.0 %)."""

INTEGER_LATENCY: Mapping[str, float] = {
    **{f"{INTEGER}{kind}": 0.25 for kind in ("add", "bitwise", "shift")}, f"{INTEGER}minmax": 0.5,
    f"{INTEGER}mul": 0.75, f"{INTEGER}div": 5.0, LOAD: 1.25,
}  # fmt: skip
VECTOR_LATENCY: Mapping[str, float] = {**INTEGER_LATENCY, f"{INTEGER}mul": 2.5}
"""Latencies on a chain of integers, and of loads that find their line in the first-level cache, in those of an addition
of float32: an x86 core adds integers in 1 cycle, loads in 5, and adds float32 in 4."""
FUNCTION_LATENCY = 5.0
"""Simple operations that a division or function counts for where the longest of several chains is looked for."""


def waiting_share(instructions: float, runs: float) -> float:
    r"""Return the share of a chain's latency that is waited for, :math:`\min(1, N/W)`.

    N are the instructions of one run of the chain. While a chain waits, the core goes on with the next runs that are
    among the next W instructions (:data:`WINDOW`): W/N of them.

    Examples
    --------
    >>> waiting_share(instructions=8000.0, runs=100.0), waiting_share(instructions=1e6, runs=100.0)
    (0.5, 1.0)
    """
    return min(1.0, instructions / max(runs, 1.0) / WINDOW)


def chain_latency(operations: Mapping[str, float]) -> float:
    """Return the latency of a chain in simple operations."""
    return integer_latency(operations, vectors=False) + sum(
        amount * (1.0 if kind in SIMPLE else FUNCTION_LATENCY)
        for kind, amount in operations.items() if kind != LOAD and not kind.startswith(INTEGER)
    )  # fmt: skip


def integer_latency(operations: Mapping[str, float], vectors: bool) -> float:
    """Return the latency of the integers and loads of a chain, in additions of float32."""
    latencies = VECTOR_LATENCY if vectors else INTEGER_LATENCY
    return sum(amount * latencies.get(kind, 0.0) for kind, amount in operations.items())
