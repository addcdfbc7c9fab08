"""Predictions of a fitted model for variants of a kernel at given sizes, with rankings and tables of predictions."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
