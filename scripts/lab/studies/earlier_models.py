r"""Models before SPT that Karsin (2018) builds on or compares with: sections 2.1 and 3.2, the formulas as they are.

N elements, P processors, M elements of internal memory, blocks of B elements. Bounds are without their constants.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from math import log

from scripts.lab.studies.karsin import Gpu, operation_seconds


def brent_time(work: float, depth: float, processors: float) -> float:
    """Return Brent's bound on the steps of P processors, W/P + D (section 2.1)."""
    return work / processors + depth


def pem_scan(n: float, processors: float, block: float) -> float:
    """Return the parallel block transfers of a scan in the PEM model, N/(P B) (section 2.1.1).

    Examples
    --------
    >>> pem_scan(2**20, 64, 32)
    512.0
    """
    return n / (processors * block)


def pem_sort(n: float, processors: float, memory: float, block: float) -> float:
    r"""Return the lower bound of sorting, :math:`\frac{N}{PB} \log_{M/B} \frac{N}{B} + \log N` (section 2.1.1)."""
    return pem_scan(n, processors, block) * log(n / block, memory / block) + log(n, 2)


def pem_search(n: float, block: float) -> float:
    r"""Return the lower bound of a predecessor search, :math:`\log_B N` (section 2.1.1)."""
    return log(n, block)


def best_ways(memory: float, block: float) -> float:
    """Return the runs that a multiway mergesort merges at once for the fewest transfers, K = M/B (section 7.2)."""
    return memory / block


def bsp_time(steps: Iterable[tuple[float, float]], gap: float, barrier: float) -> float:
    r"""Return the time of supersteps in the BSP model, :math:`\sum_s (w_s + g h_s + l)` (section 2.1.2).

    A step is (w, h), the largest work and the most messages of a processor; `gap` is g, `barrier` l.

    Examples
    --------
    >>> bsp_time([(100, 10), (50, 0)], gap=4, barrier=20)
    230.0
    """
    return float(sum(work + gap * messages + barrier for work, messages in steps))


def kothapalli_seconds(
    device: Gpu, amounts: Mapping[str, float], threads: float, launches: int = 1
) -> dict[str, float]:
    """Return the seconds of global and shared memory in the model of Kothapalli et al. (section 3.2.4).

    It is SPT with these two operations alone, M_I = 1 (M is the `threads` of a core), and no bound by bandwidth. The
    section has B = 0 for the latter; what it describes is 1/B = 0.
    """
    unbounded = replace(device, bandwidth=dict.fromkeys(device.bandwidth, float("inf")))
    both = {key: amounts[key] for key in "gs"}
    return operation_seconds(unbounded, both, dict.fromkeys(both, threads), launches)


def agpu_complexity(amounts: Mapping[str, float]) -> tuple[float, float]:
    """Return the two complexities of the AGPU model: accesses to global and to shared memory (section 3.2.4).

    They are A_g and A_s of SPT; neither latency, bandwidth nor multiplicity enters.
    """
    return amounts["g"], amounts["s"]
