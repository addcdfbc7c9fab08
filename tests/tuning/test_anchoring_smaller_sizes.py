"""Halved sizes that meet what kernels assume."""

from __future__ import annotations

import pytest

from perfmodel.counts.quasipoly.count import Count
from perfmodel.tuning.anchoring import smaller_sizes
from tests.standins import Counts, count as plain


def kernel(assumptions: str, parameters: str = "n") -> Counts:
    """A kernel with one work-group for each size, under assumptions."""
    groups = Count.from_text(f"[{parameters}] -> {{ {parameters.split(', ')[0]} }}", assumptions)
    return Counts(parameters=tuple(parameters.split(", ")), group_count=groups, assumptions=assumptions)


FREE = kernel("[n] -> { : n >= 1 }")


def test_halves_down_to_the_least():
    assert [16, 32, 64, 128] == [one["n"] for one in smaller_sizes([FREE], {"n": 128})]
    assert [25, 50, 99, 198] == [one["n"] for one in smaller_sizes([FREE], {"n": 198})]  # rounded up


@pytest.mark.parametrize("n", [1, 8, 31])
def test_small_sizes_stay(n):
    assert ({"n": n},) == smaller_sizes([FREE], {"n": n})


def test_a_kernel_without_sizes():
    assert ({},) == smaller_sizes([Counts(parameters=(), group_count=plain("1", ""))], {})


def test_what_kernels_assume_is_kept():
    tiled, other = kernel("[n] -> { : n mod 48 = 0 }"), kernel("[n] -> { : n mod 32 = 0 }")
    assert [48, 96, 144, 240, 480] == [one["n"] for one in smaller_sizes([tiled], {"n": 480})]
    assert [96, 192, 288, 480] == [one["n"] for one in smaller_sizes([tiled, other], {"n": 480})]
    # nothing between a half and the whole
    assert [480] == [one["n"] for one in smaller_sizes([kernel("[n] -> { : n mod 480 = 0 }")], {"n": 480})]


def test_parameters_shrink_together_and_small_ones_stay():
    two = kernel("[n, m] -> { : n >= 1 and m >= 1 }", "n, m")
    found = smaller_sizes([two], {"n": 256, "m": 64})
    assert [(64, 16), (128, 32), (256, 64)] == [(one["n"], one["m"]) for one in found]
    assert [(16, 3), (32, 3)] == [(one["n"], one["m"]) for one in smaller_sizes([two], {"n": 32, "m": 3})]


def test_the_elements_of_a_sparse_matrix_shrink_with_its_rows_and_no_further():
    rows = kernel("[n, nnz] -> { : n >= 1 and n mod 256 = 0 and nnz >= 0 }", "n, nnz")
    found = smaller_sizes([rows], {"n": 2**16, "nnz": 900_000})
    assert {"n": 256, "nnz": 3516} == found[0]
    assert all(one["nnz"] - one["n"] * 900_000 / 2**16 < 1 for one in found)


def test_a_parameter_that_must_not_shrink_stays():
    fixed = kernel("[n, m] -> { : m = 100 and n >= 1 }", "n, m")
    assert [(16, 100), (32, 100), (64, 100)] == [(o["n"], o["m"]) for o in smaller_sizes([fixed], {"n": 64, "m": 100})]


def test_parameters_that_assume_each_other():
    # equal ones shrink together; with m = 2 n - 16 no parameter shrinks alone, and together they break it
    equal = kernel("[n, m] -> { : n = m }", "n, m")
    assert [(16, 16), (32, 32)] == [(one["n"], one["m"]) for one in smaller_sizes([equal], {"n": 32, "m": 32})]
    bound = kernel("[n, m] -> { : m = 2*n - 16 }", "n, m")
    assert [(64, 112)] == [(one["n"], one["m"]) for one in smaller_sizes([bound], {"n": 64, "m": 112})]
