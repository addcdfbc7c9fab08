r"""The numbered formulas of Ma, Chamberlain and Agrawal (ASAP 2014) as printed, for all-pairs shortest paths.

The model family ``threaded_manycore`` has Eq. 1, 3, 4 and 6 to 8 for any kernel. Here are those that the family does
without (2 and 5) and of the one program (10 to 14). Symbols are the paper's: n vertices, sub-blocks of
:math:`S_D` by :math:`S_D` elements, :math:`B_r = (n/S_D)^2` requested groups, :math:`\mathcal{T}` work-items of a core,
L steps for a transaction of C elements. Times are proportional to what the functions return.
"""

from __future__ import annotations

import math


def cache_factor(hit_rate: float, slowdown: float, fits: bool = False) -> float:
    r"""Return Eq. 2: 1 where the working set fits on the chip (:math:`A_C`), else :math:`r_H + r_M G`.

    Parameters
    ----------
    hit_rate
        :math:`r_H` [1]; :math:`r_M = 1 - r_H`.
    slowdown
        G, how much slower all misses are than all hits [1].
    fits
        :math:`A_C`.

    Examples
    --------
    >>> cache_factor(0.75, 9.0), cache_factor(0.75, 9.0, fits=True)
    (3.0, 1.0)
    """
    return 1.0 if fits else hit_rate + (1 - hit_rate) * slowdown


def hides_latency(work: float, transactions: float, latency: float, threads: float) -> bool:
    r"""Return :math:`A_T` of Eq. 5, whether work-items suffice to hide latency: :math:`M L/\mathcal{T} \le T_1` (8)."""
    return transactions * latency / threads <= work


def calibrated(application: float, cache: float, schedule: float, hidden: bool) -> float:
    r"""Return Eq. 5, :math:`f_{app} f_{cache} f_{sched}`, where :math:`A_T` holds; NaN if it does not."""
    return application * cache * schedule if hidden else math.nan


def extended(work: float, transactions: float, latency: float, threads: float, schedule: float) -> float:
    r"""Return Eq. 8, :math:`\max(T_1, M L/\mathcal{T}) f_{sched}`; its P is a constant of the device."""
    return max(work, transactions * latency / threads) * schedule


def squarings(n: float) -> float:
    r"""Return :math:`\lg n`, how often the matrix is squared."""
    return math.log2(n)


def work(n: float) -> float:
    r"""Return :math:`T_1 = n^3 \lg n`."""
    return n**3 * squarings(n)


def transactions(n: float, sub_block: float, chunk: float) -> float:
    r"""Return Eq. 10, :math:`M = n^3 \lg n/(S_D C)`: each element is read for n/S_D sub-blocks, as a row's alone."""
    return work(n) / (sub_block * chunk)


def in_sub_blocks(n: float, sub_block: float, chunk: float, latency: float, threads: float, schedule: float) -> float:
    r"""Return Eq. 11, :math:`\max(n^3 \lg n, n^3 \lg n L/(S_D C \mathcal{T})) f_{sched}`."""
    return max(work(n), work(n) * latency / (sub_block * chunk * threads)) * schedule


def in_groups(
    n: float, requested: float, chunk: float, latency: float, threads: float, schedule: float, exponent: int = 2
) -> float:
    r"""Return Eq. 12: Eq. 11 with :math:`S_D = n/\sqrt{B_r}`.

    The memory term is :math:`n^2 \lg n L \sqrt{B_r}/(C \mathcal{T})` then, as Eq. 14 has it. The printed one has kept
    the exponent 3, n times too much.
    """
    memory = n**exponent * squarings(n) * latency * math.sqrt(requested) / (chunk * threads)
    return max(work(n), memory) * schedule


def compute_bound(n: float, schedule: float) -> float:
    r"""Return Eq. 13, :math:`n^3 \lg n f_{sched}`."""
    return work(n) * schedule


def memory_bound(n: float, requested: float, chunk: float, latency: float, threads: float, schedule: float) -> float:
    r"""Return Eq. 14, :math:`n^2 \lg n L \sqrt{B_r}/(C \mathcal{T}) f_{sched}`."""
    return n**2 * squarings(n) * latency * math.sqrt(requested) / (chunk * threads) * schedule


def threads_needed(sub_block: float, chunk: float, latency: float) -> float:
    r"""Return the :math:`\mathcal{T} = L/(S_D C)` at which Eq. 14 gives way to Eq. 13."""
    return latency / (sub_block * chunk)
