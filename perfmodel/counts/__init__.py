"""Exact symbolic counts of what a Loopy kernel executes.

Names are loaded when they are first used, so that ``counts.barvinok`` can be asked about on a
machine where Loopy is broken or missing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from perfmodel.counts.counting import count
    from perfmodel.counts.kernel import (
        AccessCount,
        BarrierCount,
        KernelCounts,
        LaunchCount,
        LaunchShape,
        OperationCount,
    )
    from perfmodel.counts.quasipoly import Count

_HOMES = {
    "AccessCount": "kernel",
    "BarrierCount": "kernel",
    "Count": "quasipoly",
    "KernelCounts": "kernel",
    "LaunchCount": "kernel",
    "LaunchShape": "kernel",
    "OperationCount": "kernel",
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
    "count",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"perfmodel.counts.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
