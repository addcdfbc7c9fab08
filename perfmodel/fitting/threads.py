"""One thread for linear algebra: a fit's matrices are small, and results stay the same to the last bit."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache
from typing import Any

import scipy.linalg  # noqa: F401 -- its own BLAS has to be there when libraries are looked for
from threadpoolctl import ThreadpoolController


def single_threaded() -> AbstractContextManager[Any]:
    """Return a context in which BLAS and LAPACK run in the calling thread alone.

    How sums are split over threads changes their last bits; and two threads on cores that others
    use as well wait for each other far longer than the work takes.
    """
    limits: AbstractContextManager[Any] = _controller().limit(limits=1, user_api="blas")
    return limits


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()
