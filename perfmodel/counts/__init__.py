"""Exact symbolic counts of what a Loopy kernel executes.

Names are loaded at their first use, so that :mod:`perfmodel.counts.points.set_counter` can be imported on a machine
where Loopy is broken or missing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfmodel.lazy import loader

if TYPE_CHECKING:
    from perfmodel.counts.counting import count
    from perfmodel.counts.kernel import KernelCounts
    from perfmodel.counts.quasipoly.count import Count
    from perfmodel.counts.rows import AccessCount, BarrierCount, LaunchCount, LaunchShape, OperationCount, Utilization

__all__ = [
    "AccessCount",
    "BarrierCount",
    "Count",
    "KernelCounts",
    "LaunchCount",
    "LaunchShape",
    "OperationCount",
    "Utilization",
    "count",
]

_HOMES = {"Count": "quasipoly.count", "KernelCounts": "kernel", "count": "counting"}  # others are in rows

__getattr__ = loader(__name__, {name: _HOMES.get(name, "rows") for name in __all__})
