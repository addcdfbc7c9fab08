"""What several threads share: isl, Loopy's caches, and the standard streams of the process."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from threading import Lock, RLock, get_ident
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

ALONE = RLock()
"""Held by the thread that counts or evaluates. isl has one context for the process, and its limit of work is of all
threads together. A block that holds it may wait for no other lock, and for no other thread."""

_streams = Lock()


def alone(function: Callable[P, R]) -> Callable[P, R]:
    """Let a function hold :data:`ALONE`."""

    @wraps(function)
    def held(*args: P.args, **kwargs: P.kwargs) -> R:
        with ALONE:
            return function(*args, **kwargs)

    return held


class _ByThread:
    """A standard stream that is another one in some threads."""

    def __init__(self, usual: Any) -> None:
        self.usual = usual
        self.others: dict[int, list[Any]] = {}  # by thread, the innermost last

    def _here(self) -> Any:
        return self.others.get(get_ident(), (self.usual,))[-1]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._here(), name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._here())


@contextmanager
def redirected(**streams: Any) -> Iterator[None]:
    """Let ``stdin``, ``stdout`` or ``stderr`` be another stream during the block, in this thread only.

    Blocks of several threads may overlap.  After the last one the stream is what it was before.
    """
    thread, used = get_ident(), {}
    with _streams:
        for name, stream in streams.items():
            current = getattr(sys, name)
            used[name] = current if isinstance(current, _ByThread) else _ByThread(current)
            used[name].others.setdefault(thread, []).append(stream)
            setattr(sys, name, used[name])
    try:
        yield
    finally:
        with _streams:
            for name, shared in used.items():
                shared.others[thread].pop()
                if not shared.others[thread]:
                    del shared.others[thread]
                if not shared.others and getattr(sys, name) is shared:
                    setattr(sys, name, shared.usual)
