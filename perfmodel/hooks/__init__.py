"""Use perfmodel from Kernel Tuner (a restriction, a search order), and read the results of other tuners."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
