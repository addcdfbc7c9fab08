"""Campaigns on the devices of Dask workers; ``docs/scale.md`` describes how to use them."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
