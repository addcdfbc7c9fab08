"""Timing of kernels on a device by the paper's protocol, in a campaign that can be resumed (``docs/measuring.md``)."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
