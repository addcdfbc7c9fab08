"""Predictions: what a fitted model says of variants of a kernel at given sizes; rankings and tables of them."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
