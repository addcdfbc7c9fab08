"""Hooks into the tuners that people have: Kernel Tuner and Triton's autotuner.

:mod:`~perfmodel.hooks.kernel_tuner` gives Kernel Tuner a restriction and a searching order,
:mod:`~perfmodel.hooks.triton` gives Triton a ``perf_model``, and :mod:`~perfmodel.hooks.importing` makes records of
the results of other tuners. None of them imports the tool that it is for, before it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfmodel.lazy import loader

if TYPE_CHECKING:
    from perfmodel.hooks.importing import Imported, import_results
    from perfmodel.hooks.kernel_tuner import Guide
    from perfmodel.hooks.triton import perf_model

__all__ = ["Guide", "Imported", "import_results", "perf_model"]

__getattr__ = loader(
    __name__,
    {"Guide": "kernel_tuner", "Imported": "importing", "import_results": "importing", "perf_model": "triton"},
)
