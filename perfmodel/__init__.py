"""perfmodel: predict the run time of Loopy kernels on OpenCL devices, without running them.

The package counts symbolically what a kernel does, fits the weights of a device once to measurements, and predicts any
other kernel from counts. Public names are loaded at their first use.
"""

from contextlib import suppress
from typing import Any

import lazy_loader

from perfmodel.caches import settle_caches

__version__ = "0.1.0"

with suppress(OSError):  # if this fails, the import of Loopy raises an error, and a command adds advice
    settle_caches()

_load, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    try:
        return _load(name)
    except AttributeError:
        raise
    except Exception as error:
        from perfmodel.libraries import failure_in_library  # only needed here

        if failure := failure_in_library(error):
            raise failure from error
        raise
