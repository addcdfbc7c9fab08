"""Fitting and measuring together, for one kernel: a run of it that makes its predictions more accurate."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
