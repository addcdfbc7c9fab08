"""Count: arithmetic, equality as functions, refusals, and ways in and out."""

from __future__ import annotations

import json
import pickle
from fractions import Fraction

import islpy as isl
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perfmodel.counts import Count
from perfmodel.counts.quasipoly.vanishing import vanishes
from perfmodel.errors import AssumptionError, GranularityError, InfiniteCountError, ParameterError

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
    with pytest.raises(GranularityError):
        TRIANGLE + Count.constant(1, "subgroup")
    with pytest.raises(TypeError):
        0.5 * TRIANGLE


def test_sums_are_simplified():
    low = Count.from_text("[n] -> { n : n <= 16 }", "[n] -> { : n >= 1 }")
    high = Count.from_text("[n] -> { n : n > 16 }", "[n] -> { : n >= 1 }")
    assert "n" == str(low + high)


def test_immutable_and_unhashable():
    with pytest.raises(AttributeError, match="immutable"):
        TRIANGLE.exact = False
    with pytest.raises(TypeError):
        hash(TRIANGLE)


def test_refused_sizes():
    with pytest.raises(ParameterError, match="left out"):
        TRIANGLE()
    with pytest.raises(ParameterError, match="negative"):
        TRIANGLE(n=-1)
    with pytest.raises(ParameterError, match="not an integer"):
        TRIANGLE(n=1.5)
    with pytest.raises(AssumptionError, match="n > 0"):
        TRIANGLE(n=0)
    with pytest.raises(AssumptionError) as caught:
        TRIANGLE.evaluate({"n": [3, 0, 2, 0]})
    assert (1, 3) == caught.value.indices
    assert 6 == TRIANGLE(n=np.int64(3)) == TRIANGLE(n=3.0)


def test_ways_in_and_out():
    written = json.loads(json.dumps(TRIANGLE.to_json()))
    assert TRIANGLE == Count.from_json(written) == pickle.loads(pickle.dumps(TRIANGLE))
    # isl would write what it reads here in another order
    odd = {**written, "polynomial": "[n, m] -> { floor((7 + n)/8) * floor((7 + m)/8) }"}
    assert odd == Count.from_json(odd).to_json()


@pytest.mark.parametrize(
    ("expected", "text"),
    [
        (True, "[n] -> { n - 16*floor(n/16) : n mod 16 = 0 }"),
        (False, "[n] -> { n - 16*floor(n/16) : n mod 8 = 0 }"),
        (True, "[n, m] -> { (n - m)*(n - m - 1) : m <= n <= m + 1 }"),
        (False, "[n, m] -> { (n - m)*(n - m - 1) : m <= n <= m + 2 }"),
        # far from the corner of the domain's bounding box
        (False, "[n, m] -> { m - 1 : n >= 100*m and m >= 1 }"),
        (True, "[n, m] -> { (m - 1)*(m - 2) : n >= 100*m and 1 <= m <= 2 }"),
        (True, "[n] -> { floor((n + 15)/16) - floor(n/16) - 1 : n mod 16 >= 1 }"),
        (False, "[n] -> { floor((n + 15)/16) - floor(n/16) - 1 : n >= 1 }"),
        (False, "[n, m] -> { floor((n + m)/16) - floor(n/16) - floor(m/16) : n, m >= 0 }"),
        (True, "[n, m] -> { (2*n - 3*m - 1)*(n + m) : 2*n = 3*m + 1 }"),
        (True, "[n] -> { n*(n - 1)*(n - 2) : 0 <= n <= 2 }"),
        (False, "[n] -> { n*(n - 1)*(n - 2) : 0 <= n <= 3 }"),
        (True, "[n, m] -> { (n - m)*(n - 2*m) : n = m or n = 2*m }"),
        (False, "[n, m] -> { (n - m)*(n - 2*m) : n = m or n = 3*m }"),
        (True, "[n] -> { 1 : n > 3 and n < 4 }"),
        (True, "[n, m] -> { (n - 3*m)*(n - 3*m - 1)*(n - 3*m - 2) : m = floor(n/3) }"),
        (True, "[n] -> { floor((floor(n/3) + n)/5) - floor((4*n - (n mod 3))/15) }"),
    ],
)
def test_vanishing(expected, text):
    assert expected == vanishes(isl.PwQPolynomial(text))


SHAPES = ("({f})", "(({f}) - {d}*floor(({f})/{d}))", "(floor(({f})/{d}) - floor(({f} - 1)/{d}))")
small = st.integers(-3, 3)


@st.composite
def functions(draw: st.DrawFn) -> str:
    """Draw a product of affine forms, remainders and floors on a bounded or unbounded domain."""
    factors = []
    for _ in range(draw(st.integers(1, 3))):
        a, b, c, d = draw(small), draw(small), draw(small), draw(st.integers(2, 4))
        shape = draw(st.sampled_from(SHAPES))
        factors.append(shape.format(f=f"{a}*n + {b}*m + {c}", d=d))
    tests = ["0 <= n <= 12", "0 <= m <= 12"]
    for _ in range(draw(st.integers(0, 2))):
        relation = draw(st.sampled_from([">=", "="]))
        tests.append(f"{draw(small)}*n + {draw(small)}*m {relation} {draw(small)}")
    if draw(st.booleans()):
        tests.append(f"n mod {draw(st.integers(2, 4))} = {draw(st.integers(0, 1))}")
    return f"[n, m] -> {{ {'*'.join(factors)} : {' and '.join(tests)} }}"


@given(functions())
@settings(max_examples=60, deadline=None, derandomize=True)
def test_vanishing_on_a_finite_domain(text):
    values = Count.from_text(text)
    expected = all(values(n=n, m=m) == 0 for n in range(13) for m in range(13))
    assert expected == vanishes(values.polynomial)


def test_multiples_of_one_count_are_added_as_numbers():
    total = TRIANGLE + Fraction(1, 2) * TRIANGLE + 3 * (TRIANGLE + TRIANGLE)
    assert [Fraction(15, 2) * n * (n + 1) / 2 for n in range(1, 9)] == [total(n=n) for n in range(1, 9)]
    assert 0 == (total + Fraction(-15, 2) * TRIANGLE)(n=7)
    bound = Count(TRIANGLE.polynomial, TRIANGLE.assumptions, exact=False)
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
    with pytest.raises(InfiniteCountError, match="infinitely many points; give each") as caught:
        ask(count)
    assert str(count.polynomial) == caught.value.found
