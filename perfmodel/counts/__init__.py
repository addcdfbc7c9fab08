"""Exact symbolic counts of what a Loopy kernel executes.

Names are loaded when they are first used, so that ``counts.barvinok`` can be asked about on a
machine where Loopy is broken or missing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from perfmodel.counts.counting import count
    from perfmodel.counts.kernel import KernelCounts
    from perfmodel.counts.quasipoly.count import Count
    from perfmodel.counts.rows import (
        AccessCount,
        BarrierCount,
        LaunchCount,
        LaunchShape,
        OperationCount,
        Utilization,
    )

_HOMES = {
    "AccessCount": "rows",
    "BarrierCount": "rows",
    "Count": "quasipoly.count",
    "KernelCounts": "kernel",
    "LaunchCount": "rows",
    "LaunchShape": "rows",
    "OperationCount": "rows",
    "Utilization": "rows",
    "count": "counting",
}

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


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"perfmodel.counts.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
