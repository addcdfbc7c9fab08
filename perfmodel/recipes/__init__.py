"""Transformations of plain kernels: recipes as values, and the legal recipes of a kernel."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
