r"""Wang and Lou's equations for their own saxpy, in cycles, by both readings of where computation dominates.

The two contradict each other where CWP is below MWP. As printed, Eq. 21 counts the computation of one warp if Comp
exceeds Mem, and Eq. 22 the instructions before the first access of each warp. By section 2.2 all warps compute (Eq. 2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any

from perfmodel.facts import published

#: Section 3.3: instructions of the listing, those that access memory, and those before the first of these.
INSTRUCTIONS, MEMORY_INSTRUCTIONS, FIRST_INSTRUCTIONS = 15, 3, 10
#: Section 3.2: the strides; section 2.4: the latency of an L2 hit over that of memory [1].
STRIDES, HIT = (1, 4, 8, 16), 0.1
#: What the paper does not print: latencies of memory [cycle] and cycles to issue one instruction, as GPUs have them.
LATENCIES, ISSUES = (300.0, 400.0, 500.0, 600.0), (1.0, 2.0, 4.0)
#: Warps of a multiprocessor: few, and the most of a Maxwell card.
FEW, MOST = 4, 64
#: Most work-items of a group: beyond as many warps a multiprocessor holds two groups.
LARGEST_GROUP = 1024


@dataclass(frozen=True)
class Multiprocessors:
    """Table 1's parameters of a device."""

    latency: float  # latency of memory [cycle]; a hit in the L2 cache takes `hit` of it [1]
    issue: float  # cycles to issue an instruction
    bandwidth: float  # bytes that memory moves in a cycle
    units: float  # multiprocessors in use
    hit: float = HIT  # latency of an L2 hit over that of memory [1]
    departure: float = 1.0  # cycles between two transactions, coalesced or not


@cache
def titan_x(latency: float, issue: float) -> Multiprocessors:
    """Return the paper's card: its published clock, bandwidth, units and departure delay, and what is not printed."""
    card = published("titan-x")
    clock = float(card.value("clock_hz"))
    return Multiprocessors(
        latency, issue, float(card.value("memory_bandwidth_bytes_per_s")) / clock, float(card.value("compute_units")),
        departure=float(card.value("departure_uncoalesced_s")) * clock,
    )  # fmt: skip


def saxpy_cycles(
    device: Multiprocessors, stride: int, warps: int, cached: bool = True, all_warps: bool = False
) -> float:
    """Return the cycles of one round of saxpy with some warps on each multiprocessor.

    Without the cache by Eq. 1, 2 and 4, with it by Eq. 20 to 22; `all_warps` gives the reading of section 2.2, where
    Eq. 2 holds wherever CWP is below MWP.
    """
    scattered = 1 / MEMORY_INSTRUCTIONS if stride > 1 else 0.0  # 13; y is coalesced
    latency = device.latency + scattered * (stride - 1) * device.departure  # 8, 11, 12
    departure = device.departure * (stride * scattered + 1 - scattered)  # 15
    mwp = min(latency / departure, device.bandwidth * latency / (128 * device.units), warps)  # 5 to 7
    memory, compute = latency * MEMORY_INSTRUCTIONS, device.issue * INSTRUCTIONS  # 16, 17
    cwp = min((memory + compute) / compute, warps)  # 9, 10
    first, period = device.issue * FIRST_INSTRUCTIONS, compute / MEMORY_INSTRUCTIONS
    if mwp == warps == cwp:
        few = max(first * (mwp - 1) + memory * device.hit, memory + compute)  # 20
        return few if cached else memory + compute + period * (mwp - 1)  # 4
    if cwp >= mwp or (compute > memory and not all_warps):
        later = memory * device.hit * max(warps / mwp - 1, 0) if cached else memory * (warps / mwp - 1)
        return memory + later + period * (mwp - 1)  # 21, 1
    if cached and not all_warps:
        return max(first * warps + latency * device.hit, latency + compute)  # 22
    return latency + compute * warps  # 2


def issue_where_computing_exceeds(latency: float) -> float:
    """Return the cycles to issue an instruction above which saxpy's Comp exceeds Mem, the condition of Eq. 21.

    Examples
    --------
    >>> issue_where_computing_exceeds(300)
    60.0
    """
    return latency * MEMORY_INSTRUCTIONS / INSTRUCTIONS


def cache_effects(issues: Sequence[float], warps: int, all_warps: bool = False) -> list[float]:
    """Return times without over with the L2 cache [1] on the paper's card, at all its strides and our latencies."""
    cases = [(titan_x(*one), stride) for one in product(LATENCIES, issues) for stride in STRIDES]
    return [
        saxpy_cycles(card, stride, warps, cached=False, all_warps=all_warps)
        / saxpy_cycles(card, stride, warps, all_warps=all_warps)
        for card, stride in cases
    ]


def readings_apart(issues: Sequence[float]) -> float:
    """Return the largest factor between the two readings' times, with the cache, at up to the most warps [1]."""
    return max(
        saxpy_cycles(titan_x(*one), stride, warps, all_warps=True) / saxpy_cycles(titan_x(*one), stride, warps)
        for one in product(LATENCIES, issues)
        for stride in STRIDES
        for warps in range(1, MOST + 1)
    )


def group_of(warps: int) -> int:
    """Return the work-items of a group that gives a multiprocessor so many warps: in one group, else in two of them.

    Examples
    --------
    >>> group_of(8), group_of(64)
    (256, 1024)
    """
    items = 32 * warps
    return items if items <= LARGEST_GROUP else items // 2


def card_records(latency: float = 400.0) -> list[dict[str, Any]]:
    """Return cycles on the paper's card for each stride, cycles to issue, and warps, which the work-group gives.

    Without and with the cache, and the relative error of leaving it out where the times with it are right [1].
    """
    return [
        {
            "stride": stride, "issue_cycles": issue, "latency_cycles": latency, "warps": warps,
            "work_group": group_of(warps), "without_l2": plain, "with_l2_printed": cached,
            "with_l2_section_2_2": saxpy_cycles(card, stride, warps, all_warps=True),
            "error_without": plain / cached - 1,
        }
        for stride in STRIDES
        for issue in ISSUES
        for card in [titan_x(latency, issue)]
        for warps in (1, 2, *range(4, MOST + 1, 4))
        for plain, cached in [(saxpy_cycles(card, stride, warps, cached=False), saxpy_cycles(card, stride, warps))]
    ]  # fmt: skip
