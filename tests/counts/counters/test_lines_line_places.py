"""Whether rows begin on lines: divisibility of strides under assumptions."""

from __future__ import annotations

import islpy as isl
import pytest

from perfmodel.counts.counters.lines import divisible, value_at
from perfmodel.errors import SizeError


@pytest.mark.parametrize(
    ("expected", "function", "assumptions"),
    [
        (True, "[n] -> { 16*n }", "[n] -> { : n >= 1 }"),
        (False, "[n] -> { 8*n }", "[n] -> { : n >= 1 }"),
        (True, "[n] -> { 8*n }", "[n] -> { : n mod 2 = 0 }"),
        (True, "[n] -> { n^2 }", "[n] -> { : n mod 4 = 0 }"),  # 4*4
        (False, "[n] -> { n^2 + n }", "[n] -> { : n mod 4 = 0 }"),  # 20 is no multiple of 16
        (True, "[m, n] -> { m*n }", "[m, n] -> { : n mod 8 = 0 and m mod 6 = 0 }"),  # 8*2
        (True, "{ 0 }", "[n] -> { : n >= 1 }"),
        (False, "[n] -> { 16*floor(n/3) }", "[n] -> { : n >= 1 }"),  # floors are not looked into
        (True, "[n] -> { floor((n + 3)/4) }", "[n] -> { : n mod 64 = 0 }"),  # unless the assumptions take them away
        (False, "[n] -> { floor((n + 3)/4) }", "[n] -> { : n mod 32 = 0 }"),
    ],
)
def test_multiples_of_16(expected, function, assumptions):
    assert expected == divisible(isl.PwQPolynomial(function), 16, isl.Set(assumptions))


def test_values():
    assert 42 == value_at(isl.PwQPolynomial("[m, n] -> { m*n }"), {"m": 6, "n": 7, "k": 1})
    with pytest.raises(SizeError, match="left out"):
        value_at(isl.PwQPolynomial("[m, n] -> { m*n }"), {"n": 7})
