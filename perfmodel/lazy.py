"""What is made at its first use: the public names of packages, and what values keep of what they compute."""

from __future__ import annotations

import copyreg
from collections.abc import Callable, Mapping
from functools import cached_property as _cached_property
from importlib import import_module
from importlib.util import find_spec
from types import MappingProxyType, ModuleType
from typing import TYPE_CHECKING, Any


def loader(package: str, homes: Mapping[str, str] = MappingProxyType({})) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a package, which loads its modules and public names at their first use.

    `homes` has for each public name the module below the package that defines it; with a dot before it one beside the
    package. A package that names its modules below ``if TYPE_CHECKING`` tells type checkers of them; another module
    can then import the package at no cost, and write ``package.module.name`` where it uses a name.

    Examples
    --------
    >>> load = loader("perfmodel", {"loader": "lazy"})
    >>> load("loader") is loader, load("lazy").loader is loader
    (True, True)
    """

    def load(name: str) -> Any:
        if name in homes:
            return getattr(_imported(f".{homes[name]}", package), name)
        if name.isidentifier() and not name.startswith("_") and find_spec(f"{package}.{name}"):
            return _imported(f"{package}.{name}")
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return load


def _imported(module: str, package: str | None = None) -> ModuleType:
    """Import a module; a LibraryVersionError where that fails and a library is of another version than perfmodel's."""
    try:
        return import_module(module, package)
    except Exception as error:
        from perfmodel.libraries import failure_in_library  # here: nothing else needs the versions

        if failure := failure_in_library(error):
            raise failure from error
        raise


if TYPE_CHECKING:
    cached_property = _cached_property
else:

    class cached_property(_cached_property):  # noqa: N801 -- as its base, which it is to its users
        """The same without the lock that it has before Python 3.12, in all objects of a class one.

        A thread that holds it would wait for :data:`perfmodel.threads.ALONE`, and another one the other way round.
        """

        def __get__(self, instance: Any, owner: type[Any] | None = None) -> Any:
            if instance is None:
                return self
            kept = vars(instance)
            if self.attrname not in kept:
                kept[self.attrname] = self.func(instance)
            return kept[self.attrname]


class Lazy:
    """A value that is copied and pickled without its cached properties, which are made again where they are used.

    They may hold what cannot be pickled, as functions that were generated, or what belongs to one process.
    """

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields."""
        made = type(self)
        fields = vars(self).items()
        return {name: value for name, value in fields if not isinstance(getattr(made, name, None), _cached_property)}


def _read_only(content: dict[Any, Any]) -> MappingProxyType[Any, Any]:
    return MappingProxyType(content)


# Values hold mappings that nobody can change, which Python neither pickles nor copies on its own.
copyreg.pickle(MappingProxyType, lambda mapping: (_read_only, (dict(mapping),)))
