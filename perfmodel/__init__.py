"""perfmodel: predict the run time of Loopy kernels on OpenCL devices, without running them.

Count symbolically what a kernel does, fit a device's weights once from measurements, predict any
other kernel from its counts. Names are loaded when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from perfmodel import devices, families, fit, measure, rank
    from perfmodel.counts import Count, KernelCounts, count
    from perfmodel.errors import PerfModelError
    from perfmodel.families import Family
    from perfmodel.predict import FittedModel, Prediction, load
    from perfmodel.rank import RankedVariant

_HOMES = {
    "Count": "counts",
    "Family": "families",
    "FittedModel": "predict",
    "KernelCounts": "counts",
    "PerfModelError": "errors",
    "Prediction": "predict",
    "RankedVariant": "rank",
    "count": "counts",
    "load": "predict",
}
_ROOMS = ("devices", "families", "fit", "measure", "rank")  # rooms that can be called

__all__ = [
    "Count",
    "Family",
    "FittedModel",
    "KernelCounts",
    "PerfModelError",
    "Prediction",
    "RankedVariant",
    "count",
    "devices",
    "families",
    "fit",
    "load",
    "measure",
    "rank",
]
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f"perfmodel.{name}")
    if name in _HOMES:
        return getattr(import_module(f"perfmodel.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
