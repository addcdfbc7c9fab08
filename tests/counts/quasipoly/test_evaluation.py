"""Quasi-polynomials written by hand, at one point each."""

from fractions import Fraction

import numpy as np
import pytest

from perfmodel.counts import Count
from perfmodel.counts.quasipoly.evaluation import together

TEXTS = (
    "[n] -> { floor(n/2) + n : n >= 5; 7 : n = 2 }",  # two pieces, zero between them
    "[m, n] -> { 1/3*n*m*floor((n + floor(m/4))/2) }",  # a floor in a floor, parameters in another order
    "{ 12 }",
    "[m] -> { floor(m/4) : m >= 8 or m = 3; m : 4 <= m <= 7 }",
    "[n] -> { 0 }",
)


def test_values_are_those_of_each_alone() -> None:
    counts = [Count.from_text(text) for text in TEXTS]
    function, parameters = together([count.function for count in counts])
    assert ("m", "n") == parameters
    for m, n in ((1, 1), (3, 2), (4, 3), (7, 6), (9, 5), (12, 8)):
        assert tuple(count(m=m, n=n) for count in counts) == function(m, n)
    # m = 9, n = 5: floor(5/2) + 5, 45/3*floor((5 + 2)/2), 12, floor(9/4), 0
    assert (7, 45, 12, 2, 0) == function(9, 5)


LARGEST = 2**20
# Like what isl makes of a halo around tiles: terms as large as n^4 whose sum is as small as n.
CANCELLING = (
    "[n] -> { 5/4*n^3*floor((n + 15)/16) - 5/4*n^3*floor(n/16) - 5/4*n^3 + 3*n : n mod 16 >= 1;"
    " n^2 : n mod 16 = 0 }"
)
COUNTS = [
    "[n] -> { n }", "[n] -> { n^3 + 2*n^2 }", "[n] -> { n^4 - 3*n^3*floor(n/3) }", "[n] -> { (n - 1000)^3*(n - 1001) }",
    "[n] -> { 1/6*n^3 - 1/6*n : n mod 2 = 0; 2*floor((n + 3)/7)^2 : n mod 2 = 1 }", CANCELLING,
]  # fmt: skip


def sizes() -> np.ndarray:
    random = np.random.default_rng(7)
    near_tiles = (np.arange(1, 400)[:, None] * 16 + np.arange(-1, 2)).ravel()
    spread = (2 ** random.uniform(0, 20, 2000)).astype(np.int64)
    return np.concatenate([near_tiles, spread, LARGEST - np.arange(40)])


@pytest.mark.parametrize("text", COUNTS)
def test_relative_error(text):
    count = Count.from_text(text)
    n = sizes()
    for size, value in zip(n.tolist(), count.evaluate({"n": n}).tolist(), strict=True):
        exact = Fraction(count(n=size))
        assert abs(Fraction(value) - exact) <= abs(exact) * Fraction(1, 10**12), size


def test_powers_beyond_any_integer_type():
    count = Count.from_text("[n] -> { n^8 - n^7*(n - 1) - n^7 + n }")  # n, of terms as large as n^8
    n = np.array([3, 10**6, 10**9, 2**40])
    assert n.tolist() == count.evaluate({"n": n}).tolist()


def test_forms_that_would_overflow():
    count = Count.from_text("[n] -> { floor((15*n + 7)/16) : 9*n >= 8; 1 : 9*n < 8 }")
    n = np.array([0, 5, 2**60, 2**62 + 17])
    assert [float(count(n=int(size))) for size in n] == count.evaluate({"n": n}).tolist()


def test_shapes():
    count = Count.from_text("[n, m] -> { n*m : n >= m; m : n < m }")
    n, m = np.arange(4)[:, None], np.arange(3)[None, :]
    expected = [[count(n=i, m=j) for j in range(3)] for i in range(4)]
    assert expected == count.evaluate({"n": n, "m": m}).tolist()
    assert () == count.evaluate({"n": 3, "m": 2}).shape
    assert (0,) == count.evaluate({"n": np.array([], dtype=int), "m": 2}).shape
    assert [5.0, 5.0] == Count.constant(5).evaluate({"n": [1, 2]}).tolist()


def test_blocks_join():
    count = Count.from_text("[n] -> { n^2 : n mod 3 = 0; 7 : n mod 3 = 1 }")
    n = np.arange(40_000)
    expected = np.where(n % 3 == 0, n.astype(float) ** 2, np.where(n % 3 == 1, 7.0, 0.0))
    assert np.array_equal(expected, count.evaluate({"n": n}))
