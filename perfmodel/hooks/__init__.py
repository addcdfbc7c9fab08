"""Hooks into the tuners that people have: Kernel Tuner and Triton's autotuner.

:mod:`~perfmodel.hooks.kernel_tuner` gives Kernel Tuner a restriction and a searching order,
:mod:`~perfmodel.hooks.triton` gives Triton a ``perf_model``, and :mod:`~perfmodel.hooks.importing` makes records of
the results of other tuners. None of them imports the tool that it is for, before it is used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
