"""Packages whose public names are loaded at their first use, so that importing one does not import what it leads to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def loader(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a package.

    Parameters
    ----------
    package
        The package's name.
    homes
        By each public name the module below the package that defines it.

    Examples
    --------
    >>> loader("perfmodel", {"loader": "lazy"})("loader") is loader
    True
    """

    def load(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{homes[name]}"), name)

    return load
