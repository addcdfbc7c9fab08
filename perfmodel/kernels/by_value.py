"""Pickling what kernel files define by value: for processes, here or elsewhere, that have not run these files."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import fields, is_dataclass
from types import ModuleType
from typing import Any

from perfmodel.kernels.execution import modules_beside

#: Every process has these under the same versions: what they define is pickled by name.
_EVERYWHERE = frozenset({"builtins", "perfmodel", *sys.stdlib_module_names})


def pickled_by_value(value: Any) -> bytes:
    """Pickle a function or a value of functions with all that their kernel files define.

    The modules that lie beside such a file travel with it.  What perfmodel and installed libraries define does not.
    """
    import cloudpickle

    with ExitStack() as undo:
        for module in _own_modules(value):
            if module.__name__ not in cloudpickle.list_registry_pickle_by_value():
                cloudpickle.register_pickle_by_value(module)
                undo.callback(cloudpickle.unregister_pickle_by_value, module)
        return bytes(cloudpickle.dumps(value))


def _own_modules(value: Any) -> list[ModuleType]:
    """Modules of the functions in a value, and those beside them, but for installed ones."""
    names = {name for function in _functions(value) if (name := getattr(function, "__module__", None))}
    names |= {beside for name in names for beside in modules_beside(name)}
    found = [sys.modules[name] for name in sorted(names) if name in sys.modules]
    return [module for module in found if not _is_everywhere(module)]


def _is_everywhere(module: ModuleType) -> bool:
    file = getattr(module, "__file__", None) or ""
    return module.__name__.partition(".")[0] in _EVERYWHERE or "site-packages" in file or not file


def _functions(value: Any) -> Iterator[Callable[..., Any]]:
    """Functions in a value: itself, its fields, and the items of its mappings and tuples."""
    if callable(value):
        yield value
        for inner in (getattr(value, "__wrapped__", None), getattr(value, "func", None)):
            if inner is not None:
                yield from _functions(inner)
    elif is_dataclass(value):
        for one in fields(value):
            yield from _functions(getattr(value, one.name))
    elif isinstance(value, tuple | list):
        for item in value:
            yield from _functions(item)
    elif hasattr(value, "items"):
        for item in value.values():
            yield from _functions(item)
