"""Linear algebra runs in one thread inside the context, and as before behind it."""

from __future__ import annotations

import numpy as np  # noqa: F401 -- its library has to be loaded
from threadpoolctl import threadpool_info

from perfmodel.fitting.design import single_threaded


def blas_threads() -> list[int]:
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]


def test_threads_are_given_back() -> None:
    with single_threaded():
        pass  # libraries that scipy brings are loaded now
    before = blas_threads()
    assert before
    with single_threaded():
        assert {1} == set(blas_threads())
        with single_threaded():
            assert {1} == set(blas_threads())
        assert {1} == set(blas_threads())
    assert before == blas_threads()
