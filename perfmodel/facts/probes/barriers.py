r"""The cost of a barrier, from kernels that differ only in how many they have.

.. math:: t(b, G) = t_0(G) + b (\alpha + \beta G)

for b barriers of one group of G work-items. :math:`\alpha` is the fact ``barrier_group_s``, :math:`\beta` is
``barrier_s``. The slope over b is a least-squares line for each G; :math:`\alpha, \beta \ge 0` fit the slopes with the
least relative error. Between two barriers each work-item computes a private value, which must be kept over the barrier.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from perfmodel.facts.fact import Fact
from perfmodel.facts.probes.run import ProbeRun, newest, times

BARRIERS = "barriers"

CLEAR = 1.2
"""Times that differ by less than this factor are taken for equal."""

Floats = NDArray[np.float64]


def barrier_slopes(runs: Iterable[ProbeRun]) -> dict[int, float]:
    """Return the time of one more barrier [s] by the work-items of the group; kernels without any are left out.

    It is zero where the most barriers take less than :data:`CLEAR` times as long as the fewest.
    """
    curve = times(newest(runs, BARRIERS), "items", "barriers")
    found = {}
    for items in sorted({int(key[0]) for key in curve}):
        line = [(float(key[1]), s) for key, s in curve.items() if key[0] == items and float(key[1]) > 0]
        if len(line) > 1:
            numbers, seconds = np.array(line).T
            slope = float(np.polynomial.Polynomial.fit(numbers, seconds, deg=1).convert().coef[1])
            found[items] = slope if seconds[-1] > CLEAR * seconds[0] else 0.0
    return found


def barrier_facts(runs: Iterable[ProbeRun]) -> dict[str, Fact]:
    """Return ``barrier_s`` [s for each work-item] and ``barrier_group_s`` [s], if all slopes are positive."""
    slopes = barrier_slopes(runs)
    if len(slopes) < 2 or min(slopes.values()) <= 0:
        return {}
    group, item = _line(np.array(list(slopes), np.float64), np.array(list(slopes.values())))
    source = f"measured, kernels with and without barriers, groups of {', '.join(map(str, slopes))}"
    return {"barrier_s": Fact(item, "s", source), "barrier_group_s": Fact(group, "s", source)}


def _line(items: Floats, seconds: Floats) -> tuple[float, float]:
    """Return the line through the slopes with the least squared relative error, neither number below zero."""
    columns = np.column_stack((1 / seconds, items / seconds))
    both = np.linalg.lstsq(columns, np.ones(len(items)), rcond=None)[0]
    if (both >= 0).all():
        return float(both[0]), float(both[1])
    alone = [float(column.sum() / (column @ column)) for column in columns.T]  # each number with the other at zero
    errors = [float(((column * value - 1) ** 2).sum()) for column, value in zip(columns.T, alone, strict=True)]
    return (alone[0], 0.0) if errors[0] <= errors[1] else (0.0, alone[1])
