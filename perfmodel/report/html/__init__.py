"""The report of a device as one HTML file, which needs no server and no other file."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
