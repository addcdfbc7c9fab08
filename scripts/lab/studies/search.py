r"""Batched predecessor search as Karsin (2018) analyses it, chapter 6: accesses and times of each layout and form.

N sorted keys, Q queries, P cores, warps of w lanes.  A layout is "sorted" (a list), "bst" (the level order of a binary
search tree) or "btree" (nodes of w keys); a form is "naive", "free" (of bank conflicts) or "limited".
:mod:`scripts.lab.studies.search_addresses` counts what lanes access.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from math import ceil, log2
from types import MappingProxyType

import numpy as np

from scripts.lab.studies.karsin import WARP, Gpu, operation_seconds

LAYOUTS = ("sorted", "bst", "btree")
FORMS = ("naive", "free", "limited")
CACHED = 2**14
"""Keys at the top of a tree that a thread-block holds in shared memory (section 6.1.2)."""
READINGS: Mapping[str, float] = MappingProxyType({"printed": 1.0, "bandwidth": math.inf})
"""The multiplicity M of the tree layouts' searches in global memory, in two readings.

"printed" is M_o of section 4.7, M b/(M_TB P), with M_TB = M b/P of section 6.1.2: one thread for each core, M_I = 1.
"bandwidth" lets nothing wait, which section 6.1.1 argues for the sorted list's global memory, and only for that.
"""


def global_accesses(layout: str, n: float, cached: float = CACHED, warp: int = WARP) -> int:
    r"""Return the blocks of global memory that one query accesses (sections 6.1.1 to 6.1.3).

    .. math:: \lceil\log N/w\rceil + 1, \quad \lceil\log N/M_{TB}\rceil, \quad \lceil\log_{w+1} N/M_{TB}\rceil

    of the sorted list, the binary tree and the B-tree.  The display of :math:`A_g` of the binary tree adds 1, and
    the text above it and the time :math:`T_g` below it do not: neither does this.

    Examples
    --------
    >>> [global_accesses(layout, 2**28) for layout in LAYOUTS]
    [24, 14, 3]
    """
    if layout == "sorted":
        return ceil(log2(n / warp)) + 1
    below = max(n / cached, 1.0)
    return ceil(log2(below)) if layout == "bst" else ceil(math.log(below, warp + 1))


def shared_accesses(layout: str, n: float, cached: float = CACHED, warp: int = WARP) -> int:
    r"""Return the accesses to shared memory of one query.

    None, :math:`\lceil\log M_{TB}\rceil`, :math:`\lceil\log_{w+1} N \log w\rceil` of the three layouts.
    """
    if layout == "sorted":
        return 0
    return ceil(log2(min(cached, n))) if layout == "bst" else ceil(math.log(n, warp + 1) * log2(warp))


def global_seconds(
    device: Gpu, layout: str, n: float, queries: float, reading: str, cached: float = CACHED, warp: int = WARP
) -> dict[str, float]:
    r"""Return the seconds of each operation of a batch in global memory (section 6.1), in one of :data:`READINGS`.

    .. math::

        T_g = \left(\frac{M}{P} + \frac{Q}{P/w} a_g\right) \max\left(\frac{1}{B_g}, \frac{L_g}{M w}\right), \qquad
        T_s = \left(\frac{M}{P} + \frac{Q}{P} a_s\right) \max\left(\frac{1}{B_s}, \frac{L_s}{M}\right)

    with :func:`global_accesses` and :func:`shared_accesses` of a query; the sorted list needs no M/P, which loads
    the top of a tree.  The w blocks of a warp's access are in flight together.  No latency is rounded up to whole
    cycles: the displays do so for two of the three layouts, which changes 85.84 cycles by 0.2 %.
    """
    loads = 0.0 if layout == "sorted" else device.shared_words / device.cores
    each = queries / device.cores
    amounts = {
        "g": loads + warp * each * global_accesses(layout, n, cached, warp),
        "s": loads + each * shared_accesses(layout, n, cached, warp),
    }
    threads = READINGS[reading]
    return operation_seconds(device, amounts, {"g": threads * warp, "s": threads}, launches=1)


def local_accesses(form: str, n: int, warp: int = WARP) -> int:
    r"""Return the accesses to shared memory of one query of the list there, conflicts left out (section 6.2).

    :math:`\log N`, but :math:`\log N - \log w + w` of the conflict-free form.

    Examples
    --------
    >>> [local_accesses(form, 1024) for form in FORMS]
    [10, 37, 10]
    """
    return int(log2(n)) - (int(log2(warp)) - warp) * (form == "free")


def local_seconds(
    device: Gpu, form: str, n: int, queries: float, threads: int, conflicts: float, warp: int = WARP
) -> dict[str, float]:
    r"""Return the seconds of each operation of a batch in shared memory (section 6.2).

    .. math:: A_g = \frac{Q}{P}, \quad A_s = \beta \frac{Q}{P} a_s, \quad M = \frac{M t}{N P}

    Parameters
    ----------
    threads
        t, threads of a thread-block, which share one list of `n` words.
    conflicts
        :math:`\beta`, serialised accesses for one of a warp [1].

    Notes
    -----
    The printed time of the conflict-free form has the latency of global memory, :math:`L_g`, in the term of shared
    memory; this has :math:`L_s`.
    """
    each = queries / device.cores
    multiplicity = device.shared_words * threads / (n * device.cores)
    amounts = {"g": each, "s": conflicts * each * local_accesses(form, n, warp)}
    return operation_seconds(device, amounts, dict.fromkeys(amounts, multiplicity), launches=1)


def worst_serialised(form: str, n: int, warp: int = WARP) -> int:
    r"""Return the most serialised accesses of a warp's queries, for N a multiple of :math:`w^2`.

    Naive: :math:`w - 1 + w \log(N/w)`, as the access of step k has at most :math:`2^{k-1}` words, from
    Corollary 6.2.1 on all in one bank.  Conflict-limited: :math:`\log(N/w) + w - 1` (section 6.2.3).

    Examples
    --------
    >>> [worst_serialised(form, 1024) for form in FORMS]
    [191, 37, 36]
    """
    high = int(log2(n // warp))
    return {"naive": warp * high + warp - 1, "free": high + warp, "limited": high + warp - 1}[form]


def expected_serialised(form: str, n: int, warp: int = WARP) -> float:
    r"""Return the expected serialised accesses of a warp's random queries, for N a multiple of :math:`w^2`.

    The dissertation leaves it open.  Naive, at step k: of :math:`m = 2^{k-1}` words, one of which each lane takes,
    :math:`m (1 - (1 - 1/m)^w)` distinct ones are expected, and while steps are at least w long all are in one bank.
    A step of s < w words has w/(2s) banks, which w lanes take at random.  Conflict-limited: in its i-th step below
    w, :math:`2^i` lanes take as many banks at random, in each of :math:`w/2^i` sets of banks.  Below w lanes are
    taken to access distinct words: an upper bound, near for N far above :math:`w^2`.
    """
    high, low = int(log2(n // warp)), int(log2(warp))
    if form == "free":
        return float(high + warp)
    if form == "limited":
        return high + sum(expected_most(2**i, 2**i, warp // 2**i) for i in range(low))
    words = [2.0**k for k in range(high)]
    words.append(n / warp)  # the step of half a warp is in one bank too
    return sum(m * (1 - (1 - 1 / m) ** warp) for m in words) + sum(expected_most(warp, 2**i) for i in range(1, low))


def expected_most(balls: int, bins: int, sets: int = 1) -> float:
    r"""Return the expected most balls in a bin, over `sets` independent sets of bins, each with so many balls.

    .. math:: P(\text{most} \le t) = \left(\frac{b!}{n^b} [x^b] \Big(\sum_{k \le t} x^k/k!\Big)^n\right)^{\text{sets}}

    of b balls in n bins.

    Examples
    --------
    >>> expected_most(2, 2), expected_most(1, 1, 32)
    (1.5, 1.0)
    """
    return sum(1.0 - _at_most(t, balls, bins) ** sets for t in range(balls))


def _at_most(most: int, balls: int, bins: int) -> float:
    """Probability that no bin has more than `most` balls; all terms are positive, so that no digits are lost."""
    one, series = [1.0 / math.factorial(k) for k in range(most + 1)], np.ones(1)
    for _ in range(bins):
        series = np.convolve(series, one)[: balls + 1]
    chance = float(series[balls]) if balls < len(series) else 0.0
    return chance * math.factorial(balls) / float(bins) ** balls
