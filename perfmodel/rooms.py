"""Rooms that can be called: ``perfmodel.fit(...)`` beside ``perfmodel.fit.design``.

The public functions ``devices``, ``measure``, ``families``, ``fit`` and ``rank`` bear the names of the
packages that hold them. Python binds a package's name in its parent when it is first imported,
so the package itself must answer the call.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any


class CallableRoom(ModuleType):
    """A package that, called, calls the public function of its own name."""

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """Call the function that the package gave as ``_called``."""
        called: Callable[..., Any] = self.__dict__["_called"]
        return called(*arguments, **options)


def make_callable(name: str) -> None:
    """Let the module of that name answer calls with its attribute ``_called``."""
    sys.modules[name].__class__ = CallableRoom
