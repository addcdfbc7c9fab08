"""Counts as text."""

import islpy as isl
import pytest

from perfmodel.counts import Count
from perfmodel.counts.quasipoly.printing import indicator_of, quasi_polynomial_of


@pytest.mark.parametrize(("expected", "text"), [
    ("0", "{ 0 }"), ("7/2", "{ 7/2 }"), ("1/2*n^2 - 1/2*n", "[n] -> { 1/2*n^2 - 1/2*n }"),
    ("n if n >= 17", "[n] -> { n : n >= 17 }"), ("-n + 20 if n <= 16", "[n] -> { 20 - n : n <= 16 }"),
    ("n if n mod 16 = 0", "[n] -> { n : n mod 16 = 0 }"), ("n if n mod 16 >= 3", "[n] -> { n : n mod 16 >= 3 }"),
    ("m if n > m", "[n, m] -> { m : n > m }"), ("m if n >= m", "[n, m] -> { m : n >= m }"),
    ("m if n >= m + 4", "[n, m] -> { m : n >= m + 4 }"), ("m if n + 4 >= m", "[n, m] -> { m : n >= m - 4 }"),
    ("n - 2 if m + 2 = n", "[n, m] -> { m : n = m + 2 }"), ("5 if n >= 8 or n = 2", "[n] -> { 5 : n >= 8; 5 : n = 2 }"),
    ("floor((n + 15)/16)^2", "[n] -> { floor((n + 15)/16)^2 }"),
])  # fmt: skip
def test_text(expected, text):
    assert expected == str(Count.from_text(text))


def test_upper_bounds_have_brackets_where_needed():
    assert "<= n" == str(Count.from_text("[n] -> { n }", exact=False))
    pieces = Count.from_text("[n] -> { n^2 : n >= 17; n : n <= 16 }", exact=False)
    assert str(pieces) in ("<= (n^2 if n >= 17; n if n <= 16)", "<= (n if n <= 16; n^2 if n >= 17)")


def test_pieces_of_equal_value_are_one():
    found = quasi_polynomial_of(isl.PwQPolynomial("[n] -> { 5 : n >= 8; 5 : n = 2; 0 : n = 3 }"))
    assert 1 == len(found.pieces)
    assert [0, 5, 0, 0, 5] == [found.exact(n) for n in (1, 2, 3, 7, 8)]


def test_indicator():
    found = indicator_of(isl.Set("[n] -> { : n >= 4 and n mod 3 = 1 }"))
    assert [n for n in range(15) if n >= 4 and n % 3 == 1] == [n for n in range(15) if found.exact(n)]
    assert [0, 1] == [found.exact(n) for n in (1, 4)]
