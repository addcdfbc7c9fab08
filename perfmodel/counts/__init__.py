"""Exact symbolic counts of what a Loopy kernel executes.

Names are loaded at their first use, so that :mod:`perfmodel.counts.points.barvinok` can be imported
on a machine where Loopy is broken or missing.
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


_MODULES = {"Count": "quasipoly.count", "KernelCounts": "kernel", "count": "counting"}  # others are in rows


def __getattr__(name: str) -> Any:
    if name in __all__:
        return getattr(import_module(f"perfmodel.counts.{_MODULES.get(name, 'rows')}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
