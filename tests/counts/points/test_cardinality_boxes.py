"""The number of points of a box around a set, by hand."""

from __future__ import annotations

import islpy as isl
import pytest

from perfmodel.counts import Count
from perfmodel.counts.points.cardinality import count_in_box
from perfmodel.errors import CountError


def test_a_box_takes_the_tightest_of_few_bounds():
    basic = isl.BasicSet("[n, m] -> { [i, j] : 0 <= i < n and i < m and 2*j >= i and 2*j <= 3*n + 1 }")
    for n in range(5):
        for m in range(5):
            # over the reals 0 <= j, and 2*j <= 3*n + 1 leaves floor((3*n + 1)/2) + 1 values
            expected = min(n, m) * ((3 * n + 1) // 2 + 1) if min(n, m) else 0
            assert expected == Count(count_in_box([basic]))(n=n, m=m)


def test_a_box_around_two_parts():
    # the hull of 0 <= i < 3 and 10 <= i < 12 is 0 <= i < 12
    parts = [isl.BasicSet("{ [i] : 0 <= i < 3 }"), isl.BasicSet("{ [i] : 10 <= i < 12 }")]
    assert 12 == Count(count_in_box(parts))()


def test_a_triangle_lies_in_a_square():
    assert 49 == Count(count_in_box([isl.BasicSet("[n] -> { [i, j] : 0 <= i <= j < n }")]))(n=7)


def test_of_many_bounds_the_tightest_at_large_sizes_is_taken():
    # five upper bounds in each of two axes are 25 ways; n/5 is the least of them at n = 1000
    limits = " and ".join(f"{k}*{x} < n + {5 - k}" for k in range(1, 6) for x in "ij")
    found = Count(count_in_box([isl.BasicSet(f"[n] -> {{ [i, j] : i, j >= 0 and {limits} }}")]))
    assert 20**2 == found(n=100)


def test_no_box_around_an_infinite_set():
    with pytest.raises(CountError):
        count_in_box([isl.BasicSet("[n] -> { [i] : i >= n }")])
