"""Run a function in a child process that has imported everything and counted nothing."""

from __future__ import annotations

import gc
import os
import pickle
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Ran:
    """What a child returned (or the error it died of) and its peak memory in bytes."""

    value: Any
    error: str
    peak_bytes: int


def forked(function: Callable[[], Any]) -> Ran:
    """Call *function* in a fork of this process, so that what it memoises dies with it."""
    gc.freeze()  # else the child's first collection copies every page of the parent
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        try:
            answer = (function(), "")
        except BaseException as error:  # whatever it is, it is the answer
            answer = (None, f"{type(error).__name__}: {error}".splitlines()[0])
        with os.fdopen(writer, "wb") as stream:
            pickle.dump(answer, stream)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as stream:
        text = stream.read()
    _, _, usage = os.wait4(child, 0)
    value, failure = pickle.loads(text) if text else (None, "the process died")
    return Ran(value, failure, usage.ru_maxrss * 1024)


def seconds(function: Callable[[], object]) -> float:
    """Return the CPU seconds of a call: neither side waits, and neighbours don't count."""
    began = time.process_time()
    function()
    return time.process_time() - began
