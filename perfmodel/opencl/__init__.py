"""OpenCL devices: listing, selection, and a check in a separate process. A listed device may not work."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
