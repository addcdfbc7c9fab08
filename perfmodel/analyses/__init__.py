"""What bounds a kernel on a device: balance, benefits and roofline points, after Kim et al. (2012)."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
