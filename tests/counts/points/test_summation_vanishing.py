"""Functions that are zero wherever they are defined, against enumeration."""

from __future__ import annotations

import islpy as isl
import pytest
from hypothesis import given, settings, strategies as st

from perfmodel.counts import Count
from perfmodel.counts.points.summation import vanishes


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
