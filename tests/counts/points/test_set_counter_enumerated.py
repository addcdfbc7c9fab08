"""Projections of few values, written out."""

from __future__ import annotations

import islpy as isl
import pytest

from perfmodel.counts.points.set_counter import enumerated

# The cells of a[i // 2] where i mod 3 = 1 and i = 8*i_outer + i_inner: Barvinok's algorithm takes 15 s.
HALVED = (
    "[m, n] -> { [x] : exists e, o: m > 0 and 0 <= e <= 7 and 3*o < e and 8*o <= 3*e - 3"
    " and 24*o >= 9*e - 2*x - 9 and 9*e - n - 7 <= 24*o <= 9*e - 2*x - 8 }"
)


def test_a_projection_of_few_values_becomes_their_union():
    points = isl.Set(HALVED)
    found = enumerated(points)
    assert points == found
    assert all(basic.dim(isl.dim_type.div) < 2 for basic in found.get_basic_sets())


@pytest.mark.parametrize(
    "text",
    [
        "[n] -> { [i] : 0 <= i < n }",
        "[n] -> { [i] : 0 <= i < n and i mod 3 = 0 }",
        "[n] -> { [i] : exists a : 0 <= a < 4 and 4*a <= i < n }",
        "[n] -> { [i] : i mod 3 = 0 and (i + n) mod 5 = 1 and 0 <= i < n }",
        "[n] -> { [i] : exists a, b : 0 <= a < 40 and 0 <= b < n and a <= i <= 7*a + 3*b }",
        "{ [] }",
        "{ [i] : 1 = 0 }",
    ],
)
def test_the_set_stays_the_same(text):
    assert isl.Set(text) == enumerated(isl.Set(text))
