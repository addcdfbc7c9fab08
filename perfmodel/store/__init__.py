"""The store of measurements: append-only JSON Lines, enough to refit with no device (``docs/store.md``)."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
