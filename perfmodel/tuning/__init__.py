"""Runs of a user's kernel: to scale its predictions (anchors), to time its variants, and to find the fastest."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
