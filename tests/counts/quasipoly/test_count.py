"""Count: arithmetic, equality as functions, refusals, and ways in and out."""

import json
import pickle
from fractions import Fraction

import numpy as np
import pytest

from perfmodel.counts import Count
from perfmodel.counts.points.cardinality import Cardinality
from perfmodel.errors import AssumptionError, CountError, SizeError

TRIANGLE = Count.from_text("[n] -> { 1/2*n^2 + 1/2*n : n >= 1 }", "[n] -> { : n >= 1 }")


def test_values():
    assert [1, 3, 6, 5050] == [TRIANGLE(n=n) for n in (1, 2, 3, 100)]
    assert type(TRIANGLE(n=7)) is int
    third = Fraction(1, 3) * TRIANGLE
    assert Fraction(10, 3) == third(n=4)
    assert 2**20 * (2**20 + 1) // 2 == TRIANGLE(n=2**20)


def test_arithmetic():
    twice = TRIANGLE + TRIANGLE
    assert 2 * TRIANGLE == twice
    assert TRIANGLE == sum([TRIANGLE])
    bound = Count.from_text("[n] -> { n }", exact=False)
    assert not (TRIANGLE + bound).exact
    with pytest.raises(CountError):
        TRIANGLE + Count.constant(1, "subgroup")
    with pytest.raises(TypeError):
        0.5 * TRIANGLE


def test_one_parameter_is_no_multiple_and_no_product():
    texts = ("n", "2*n", "n*m", "n + 1", "-n", "4", "floor(n/2)")
    assert [True, *[False] * 6] == [Count.from_text(f"[n, m] -> {{ {text} }}").is_parameter for text in texts]
    assert not (Count.from_text("[n] -> { n }") * 0).is_parameter


def test_refused_sizes():
    with pytest.raises(SizeError, match="left out"):
        TRIANGLE()
    with pytest.raises(SizeError, match="negative"):
        TRIANGLE(n=-1)
    with pytest.raises(SizeError, match="not an integer"):
        TRIANGLE(n=1.5)
    with pytest.raises(AssumptionError, match="n > 0"):
        TRIANGLE(n=0)
    assert 6 == TRIANGLE(n=np.int64(3)) == TRIANGLE(n=3.0)


def test_ways_in_and_out():
    written = json.loads(json.dumps(TRIANGLE.to_json()))
    assert TRIANGLE == Count.from_json(written) == pickle.loads(pickle.dumps(TRIANGLE))
    # isl would write what it reads here in another order
    odd = {**written, "polynomial": "[n, m] -> { floor((7 + n)/8) * floor((7 + m)/8) }"}
    assert odd == Count.from_json(odd).to_json()


def test_multiples_of_one_count_are_added_as_numbers():
    total = TRIANGLE + Fraction(1, 2) * TRIANGLE + 3 * (TRIANGLE + TRIANGLE)
    assert [Fraction(15, 2) * n * (n + 1) / 2 for n in range(1, 9)] == [total(n=n) for n in range(1, 9)]
    assert 0 == (total + Fraction(-15, 2) * TRIANGLE)(n=7)
    bound = Count(Cardinality(TRIANGLE.polynomial, exact=False), TRIANGLE.assumptions)
    assert not (TRIANGLE + bound).exact
    assert not (bound + TRIANGLE).exact
    assert (TRIANGLE + 2 * TRIANGLE).exact
    odd = Count.from_text("[n] -> { n : n mod 2 = 1 }", "[n] -> { : n mod 2 = 1 }")
    same = Count.from_text("[n] -> { n : n mod 2 = 1 }", "[n] -> { : n >= 5 }")
    assert 14 == (odd + same)(n=7)
    with pytest.raises(AssumptionError):
        (odd + same)(n=3)


def test_equality_needs_no_equal_texts():
    assumptions = "[n] -> { : n >= 1 }"
    left = Count.from_text("[n] -> { 16*floor((n + 15)/16) : n mod 16 = 0 }", assumptions)
    right = Count.from_text("[n] -> { n : n mod 16 = 0 }", assumptions)
    assert left == right
    assert left != Count.from_text("[n] -> { n }", assumptions)
    assert left != Count.from_text("[n] -> { n : n mod 16 = 0 }", assumptions, exact=False)


@pytest.mark.parametrize("ask", [str, lambda count: count(n=2), lambda count: count.evaluate({"n": [2]})])
def test_an_infinite_count_is_an_error(ask):
    """As Barvinok's algorithm gives for a set without a bound."""
    count = Count.from_text("[n] -> { infty : n >= 4; n^2 : 0 < n <= 3 }")
    with pytest.raises(CountError, match="infinitely many points; give each") as caught:
        ask(count)
    assert str(count.polynomial) in str(caught.value)


SQUARE = Count.from_text("[n] -> { n*n }", "[m, n] -> { : n >= 4 and m >= 1 }")


def test_parameters_of_assumptions_are_needed_too():
    for ask in (lambda sizes: SQUARE(**sizes), SQUARE.evaluate):
        with pytest.raises(SizeError, match=r"m.*left out"):
            ask({"n": 5})


def test_the_first_sizes_that_break_an_assumption():
    with pytest.raises(AssumptionError) as caught:
        SQUARE.evaluate({"n": [5, 3, 9, 2], "m": 1})
    assert (1, 3) == caught.value.indices
    assert {"n": 3, "m": 1} == caught.value.values
    with pytest.raises(AssumptionError):
        SQUARE(n=5, m=0)
