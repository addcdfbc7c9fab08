"""Use perfmodel from Kernel Tuner, and read the results of other tuners.

:mod:`~perfmodel.hooks.kernel_tuner` gives Kernel Tuner a restriction and a search order;
:mod:`~perfmodel.hooks.importing` makes measurements of other tuners' results. Kernel Tuner is imported only when used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
