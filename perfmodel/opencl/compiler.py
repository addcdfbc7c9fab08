"""Builds OpenCL programs and silences the warnings about the compiler's output."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def quiet_compiler() -> Iterator[None]:
    """Build programs without pyopencl's warning about compiler output, which Intel's compiler always writes."""
    import pyopencl as cl

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cl.CompilerWarning)
        yield
