"""Loopy kernels to count, grouped by theme: each module lists them in ``KERNELS``."""

import importlib
import pkgutil
from dataclasses import replace

from .kernel import CorpusKernel

__all__ = ["CorpusKernel", "kernels"]


def kernels() -> tuple[CorpusKernel, ...]:
    """Every corpus kernel, sorted by name, its theme being the module's name."""
    found: list[CorpusKernel] = []
    for module in pkgutil.iter_modules(__path__):
        listed = getattr(importlib.import_module(f"{__name__}.{module.name}"), "KERNELS", ())
        found.extend(replace(kernel, theme=module.name) for kernel in listed)
    return tuple(sorted(found, key=lambda kernel: kernel.name))
