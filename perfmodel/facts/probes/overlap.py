r"""How far computing and memory overlap: the exponent p of :math:`T = (A^p + B^p)^{1/p}`.

A is the time of a kernel that only moves data, B that of the same kernel with data at hand and arithmetic, and T that
of the kernel with both. p = 1 is no overlap (the sum), and a large p a full one (the maximum).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import log

import numpy as np

from perfmodel.facts.fact import Fact
from perfmodel.facts.probes.run import ProbeRun, newest, times

OVERLAP = "overlap"
LEAST, MOST = 1.0, 16.0
COMPARABLE = 8.0
"""Kernels whose A and B differ by more than this factor tell nothing of p."""
_PARTS, _PASSES = 16, 5


def exponent(triples: Sequence[tuple[float, float, float]]) -> float:
    r"""Return the p in [1, 16] that fits the times (A, B, T) best: the least sum of :math:`\log^2(T_p/T)`.

    Examples
    --------
    >>> round(exponent([(3.0, 4.0, 5.0)]), 3), exponent([(1.0, 1.0, 2.5)]), exponent([(1.0, 2.0, 1.9)])
    (2.0, 1.0, 16.0)
    """

    def error(reciprocal: float) -> float:
        return sum(log(together(a, b, 1 / reciprocal) / t) ** 2 for a, b, t in triples)

    low, high = 1 / MOST, 1 / LEAST
    for _ in range(_PASSES):  # each looks closer around the best of the pass before
        grid = np.linspace(low, high, 2 * _PARTS + 1)
        best = int(np.argmin([error(one) for one in grid]))
        low, high = float(grid[max(best - 1, 0)]), float(grid[min(best + 1, 2 * _PARTS)])
    return 1 / float(grid[best])


def together(a: float, b: float, p: float) -> float:
    """Return the p-norm of two times, which are above zero."""
    large, small = max(a, b), min(a, b)
    return float(large * (1 + (small / large) ** p) ** (1 / p))


def triples(runs: Iterable[ProbeRun]) -> dict[int, tuple[float, float, float]]:
    """Return the times of memory alone, of computing alone and of both [s], by the operations of each work-item."""
    curve = times(newest(runs, OVERLAP), "part", "operations")
    memory = curve.get(("memory", 0))
    if memory is None:
        return {}
    return {
        int(operations): (memory, curve["compute", operations], seconds)
        for (part, operations), seconds in curve.items() if part == "both" and ("compute", operations) in curve
    }  # fmt: skip


def overlap_facts(runs: Iterable[ProbeRun]) -> dict[str, Fact]:
    """Return ``overlap_exponent``; nothing where no kernel has memory and computing of comparable times."""
    usable = [(a, b, t) for a, b, t in triples(runs).values() if 1 / COMPARABLE <= a / b <= COMPARABLE]
    if not usable:
        return {}
    p = exponent(usable)
    bound = " or more" if p == MOST else " or less" if p == LEAST else ""
    source = f"measured, {len(usable)} kernels with memory, arithmetic and both: {p:.3g}{bound}"
    return {"overlap_exponent": Fact(p, "", source)}
