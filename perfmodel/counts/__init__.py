"""Exact symbolic counts of what a Loopy kernel executes. Names are loaded at their first use."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
