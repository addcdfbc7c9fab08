"""What several threads share: isl, Loopy's caches, the standard streams of the process, and its cores."""

from __future__ import annotations

import os
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

CORES: frozenset[int] = frozenset(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else frozenset()
"""The cores that this process might use when it began; none where the system does not report them."""


@contextmanager
def all_cores() -> Iterator[None]:
    """Let this thread, and processes that begin in the block, use all cores: PoCL binds the thread that runs a kernel.

    Only Linux binds threads; elsewhere nothing is done.
    """
    bound = os.sched_getaffinity(0) if CORES else set()
    if CORES:
        os.sched_setaffinity(0, CORES)
    try:
        yield
    finally:
        if CORES:
            os.sched_setaffinity(0, bound)


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

    def close(self) -> None:
        """Close nothing: code inside of a block has no right to end a stream of the whole process."""


@contextmanager
def redirected(**streams: Any) -> Iterator[None]:
    """Let ``stdin``, ``stdout`` or ``stderr`` be another stream during the block, in this thread only.

    Blocks of several threads may overlap.  After the last one the stream is what it was before, also where code inside
    of a block put another in its place, or closed it.
    """
    thread, used = get_ident(), {}
    with _streams:
        for name, stream in streams.items():
            current = getattr(sys, name)
            used[name] = current if isinstance(current, _ByThread) else _ByThread(current)
            here = stream._here() if isinstance(stream, _ByThread) else stream
            used[name].others.setdefault(thread, []).append(here)
            setattr(sys, name, used[name])
    try:
        yield
    finally:
        with _streams:
            for name, shared in used.items():
                shared.others[thread].pop()
                if not shared.others[thread]:
                    del shared.others[thread]
                setattr(sys, name, shared if shared.others else shared.usual)


@contextmanager
def guest_streams() -> Iterator[None]:
    """Run a block of a user's file: it prints to standard error, and streams that it closes or replaces come back."""
    with redirected(stdin=sys.stdin, stdout=sys.stderr, stderr=sys.stderr):
        yield
