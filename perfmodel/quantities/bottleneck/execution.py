"""How a device executes a launch: vectors that compilers make, latency that other work hides, load imbalance."""

from collections import defaultdict
from collections.abc import Mapping
from heapq import heapreplace
from math import ceil, floor, log2

import numpy as np
from numpy.typing import NDArray

from perfmodel.quantities.bottleneck.compiled import LOAD, CompiledLaunch, CompiledNest
from perfmodel.quantities.bottleneck.pairs import INTEGER
from perfmodel.quantities.instructions import SIMPLE

WRITTEN_CODE = 300  # with at most this many instructions, the compiler unrolls the loop over a row's work-items
LOOP_CODE, ADDRESS_CODE, TEST_CODE = 2, 2, 5  # additional instructions of a loop, of a computed address, of a guard
FEWEST_TRIPS = 4  # fewest iterations of a loop of known trips that become a vector


def packs_items(launch: CompiledLaunch[float], wide: bool) -> bool:
    """Return whether PoCL's compiler makes vectors of work-items, with AVX-512 (``wide``) or without."""
    return launch.packs_items(wide) and not writes_rows_out(launch)


def writes_rows_out(launch: CompiledLaunch[float]) -> bool:
    """Return whether the compiler unrolls the loop over the work-items of a row, so that their code is scalar.

    It packs the unrolled work-items into vectors again if the group is one row of a power of two of them and no test
    is between them. Then it knows that the addresses are adjacent. The numbers follow from the times and the machine
    code of kernels with rows of 8 to 64 work-items (docs/lab/guards.md).
    """
    code, guarded = 0.0, any(nest.guarded_row for nest in launch.nests)
    for nest in launch.nests:
        if nest.iterations:
            accesses = sum(access.unmasked * (1 + ADDRESS_CODE * access.new_address) for access in nest.accesses)
            code += (accesses + _fused_operations(nest)) / nest.iterations + TEST_CODE * nest.guarded_row
    repacked = launch.row_items == launch.group_items and launch.row_items.bit_count() == 1 and not guarded
    return launch.row_items * (code + LOOP_CODE) <= WRITTEN_CODE and not repacked


def _fused_operations(nest: CompiledNest[float]) -> float:
    amounts: defaultdict[tuple[bool, str], float] = defaultdict(float)
    for operation in nest.operations:
        amounts[operation.integer, operation.kind] += operation.unmasked
    return sum(amounts.values()) - min(amounts[False, "add"], amounts[False, "mul"])


def loop_lanes(nest: CompiledNest[float], width: float) -> float:
    """Return the iterations of the innermost loop per instruction: vectors of a width, and scalars for the rest.

    For a loop of few known trips the compiler makes narrower vectors. For example, a loop over 17 cells of float32 is
    two vectors of 8 and a scalar. The 17 iterations take 3 instructions.
    """
    trips = nest.iterations / nest.entries
    if nest.written_out:
        width = min(width, 2.0 ** floor(log2(trips))) if trips >= FEWEST_TRIPS else 1.0
    vectors = trips // width
    return trips / (vectors + trips - vectors * width)


WINDOW = 160.0
"""Instructions that an out-of-order core looks ahead.

With half or twice this number, left-out groups are predicted about as well on PoCL (25.2 and 25.9 % instead of 25.5 %)
and worse on Intel's runtime (16.7 and 16.6 % instead of 15.0 %).
"""
INTEGER_LATENCY: Mapping[str, float] = {
    **{f"{INTEGER}{kind}": 0.25 for kind in ("add", "bitwise", "shift")}, f"{INTEGER}minmax": 0.5,
    f"{INTEGER}mul": 0.75, f"{INTEGER}div": 5.0, LOAD: 1.25,
}  # fmt: skip
VECTOR_LATENCY: Mapping[str, float] = {**INTEGER_LATENCY, f"{INTEGER}mul": 2.5, LOAD: 10.0}
"""Latencies of integer operations on a chain, and of loads that hit the first-level cache, in float32 additions.

An x86 core adds integers in 1 cycle, loads in 5, and adds float32 in 4. A vector gathers in 40.
"""
FUNCTION_LATENCY = 5.0  # a division or function counts as this many simple operations when chains are compared


def waiting_share(instructions: float, runs: float) -> float:
    r"""Return the share of a chain's latency that is not hidden, :math:`\min(1, N/W)` for N instructions of one run.

    While a chain waits, the core continues with the next runs that are among the next W instructions (:data:`WINDOW`).
    """
    return min(1.0, instructions / max(runs, 1.0) / WINDOW)


def chain_latency(operations: Mapping[str, float]) -> float:
    """Return the latency of a chain, in units of a simple operation's latency."""
    return integer_latency(operations, vectors=False) + sum(
        amount * (1.0 if kind in SIMPLE else FUNCTION_LATENCY)
        for kind, amount in operations.items() if kind != LOAD and not kind.startswith(INTEGER)
    )  # fmt: skip


def integer_latency(operations: Mapping[str, float], vectors: bool) -> float:
    """Return the latency of the integer operations and loads of a chain, in additions of float32."""
    latencies = VECTOR_LATENCY if vectors else INTEGER_LATENCY
    return sum(amount * latencies.get(kind, 0.0) for kind, amount in operations.items())


MOST_GROUPS = 1 << 14  # most groups of a launch whose work is evaluated one by one; more groups are assumed to be equal
FEW, MANY = 32, 256
"""Most groups that PoCL gives at once to one of U units, over U: ``MANY`` while more than ``256*U*U`` are left."""


def busiest_over_mean(work: NDArray[np.float64], units: int, in_shares: bool) -> float:
    r"""Return the ratio of the busiest unit's work to the mean of all U units, from the work of each group.

    A free unit takes the next group, as on a GPU. Intel's runtime halves tasks while a unit is free, and is as
    balanced. *In shares*, a unit takes :math:`\lceil r/U \rceil` of the r groups that are left, but at most :math:`32
    U`. If more than :math:`256 U^2` groups are left, the limit is :math:`256 U`. PoCL 3.1 takes groups in shares
    (``get_wg_index_range`` in ``pthread_scheduler.c``).
    """
    before, dealt, busy = np.concatenate([[0.0], np.cumsum(work)]), 0, [0.0] * units
    while dealt < len(work):
        left, taken = len(work) - dealt, 1
        if in_shares:
            taken = min(ceil(left / units), (FEW if left <= MANY * units**2 else MANY) * units)
        heapreplace(busy, busy[0] + float(before[dealt + taken] - before[dealt]))
        dealt += taken
    return max(busy) * units / sum(busy) if any(busy) else 1.0


def rounds_over_mean(groups: float, units: int) -> float:
    r"""Return the result of :func:`busiest_over_mean` for equal groups, :math:`\lceil g/U \rceil U / g`."""
    return ceil(groups / units) * units / groups if groups else 1.0
