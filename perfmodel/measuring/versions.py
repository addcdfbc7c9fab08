"""Versions of what times depend on, in the process that measures."""

from __future__ import annotations

import os
import sys
from functools import cache
from importlib.metadata import PackageNotFoundError, version

from perfmodel.measuring.pinning import PINNED

#: Libraries whose versions a record holds.
LIBRARIES = ("perfmodel", "loopy", "islpy", "pyopencl", "numpy")


@cache
def versions() -> dict[str, str]:
    """Versions of Python and of the libraries that times depend on, and whether threads are pinned."""
    found = {"python": sys.version.split()[0]}
    for name in LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return {**found, **{name: os.environ[name] for name in PINNED if name in os.environ}}
