"""Counting by pure isl, against brute force, closed forms and Barvinok's algorithm."""

from fractions import Fraction

import islpy as isl
import pytest
from hypothesis import given, settings, strategies as st

from perfmodel.counts import Count
from perfmodel.counts.points import summation
from perfmodel.counts.points.polytopes import Polynomial, Polytope, floor
from perfmodel.counts.points.set_counter import sum_of_points
from perfmodel.counts.points.summation import PartialSum, TooHardError, joined, total_of, values_of
from perfmodel.counts.quasipoly.arguments import at_sizes
from perfmodel.counts.quasipoly.evaluation import vanishes
from perfmodel.counts.quasipoly.printing import quasi_polynomial_of
from perfmodel.errors import CountError
from tests.counts.points.forms import form


def brute_force(points: isl.Set, **sizes: int) -> int:
    """Count the points of a bounded set by enumeration."""
    return at_sizes(points, sizes).count_val().to_python()


@pytest.mark.parametrize(("text", "closed_form"), [
    ("[n] -> { [i] : 0 <= i < n }", lambda n: n),
    ("[n] -> { [i, j] : 0 <= i < n and 0 <= j < n }", lambda n: n * n),
    ("[n] -> { [o, i] : 0 <= 16*o + i < n and 0 <= i < 16 }", lambda n: n),
    ("[n] -> { [o, p, i] : 0 <= 16*o + 4*p + i < n and 0 <= i < 4 and 0 <= p < 4 }", lambda n: n),
    ("[n] -> { [o] : o >= 0 and 16*o < n }", lambda n: -(-n // 16)),
    ("[n] -> { [i, j] : 0 <= i <= j < n }", lambda n: n * (n + 1) // 2),
    ("[n] -> { [i, j, k] : 0 <= i < j < k < n }", lambda n: n * (n - 1) * (n - 2) // 6),
    ("[n] -> { [i] : 0 <= i < n and i mod 4 = 1 }", lambda n: len(range(1, n, 4))),
    (
        "[n] -> { [i, j] : i >= 0 and j >= 0 and 2*i + 3*j = n }",
        lambda n: sum((n - 3 * j) % 2 == 0 for j in range(n // 3 + 1)),
    ),
    ("[n] -> { [q] : exists i : 0 <= i < n and q = floor(i/5) }", lambda n: -(-n // 5)),
    ("[n] -> { [i] : 0 <= i < n and n mod 16 = 0 }", lambda n: n if n % 16 == 0 else 0),
    (
        "[n] -> { [i, j] : (0 <= i < n and 0 <= j < 5) or (0 <= i < 5 and 0 <= j < n) }",
        lambda n: 10 * n - min(n, 5) ** 2,
    ),
    ("[n] -> { [] : n > 4 }", lambda n: int(n > 4)),
])  # fmt: skip
def test_closed_forms(text, closed_form):
    found = sum_of_points(isl.Set(text))
    assert not found.unexpanded
    for n in range(50):
        assert closed_form(n) == Count(found.polynomial)(n=n), n


def test_infinite_sets_are_refused():
    with pytest.raises(CountError, match=r"cannot count \[n\] -> .*infinitely many"):
        sum_of_points(isl.Set("[n] -> { [i] : i >= n }"))


@st.composite
def sets(draw: st.DrawFn) -> isl.Set:
    """Draw a bounded set: two or three variables in a box, with constraints and congruences."""
    names = ["i", "j", "k"][: draw(st.integers(1, 3))]
    small = st.integers(-3, 3)
    tests = [f"0 <= {name} <= n + {draw(st.integers(0, 2))}" for name in names]
    for _ in range(draw(st.integers(0, 3))):
        left = " + ".join(f"{draw(small)}*{name}" for name in names)
        relation = draw(st.sampled_from([">=", "<=", "="]))
        tests.append(f"{left} {relation} {draw(small)}*n + {draw(small)}*m + {draw(small)}")
    if draw(st.booleans()):
        name, period = draw(st.sampled_from(names)), draw(st.integers(2, 5))
        tests.append(f"({name} + {draw(small)}*n) mod {period} <= {draw(st.integers(0, 3))}")
    if draw(st.booleans()):
        tests.append(f"({draw(st.sampled_from(names))} <= 2 or {draw(st.sampled_from(names))} >= m)")
    return isl.Set(f"[n, m] -> {{ [{', '.join(names)}] : {' and '.join(tests)} }}")


@given(sets(), st.integers(0, 9), st.integers(0, 9))
@settings(max_examples=30, deadline=None, derandomize=True)
def test_random_sets(points, n, m):
    found = sum_of_points(points)
    if not found.unexpanded:
        assert brute_force(points, n=n, m=m) == Count(found)(n=n, m=m)


def test_large_functions_are_not_added(monkeypatch):
    monkeypatch.setattr(summation, "TERMS", 3)
    points = isl.Set("[n, m] -> { [i, j] : 0 <= i < n and 0 <= j < n and (j <= i or i <= m) }")
    found = sum_of_points(points)
    assert found.unexpanded
    assert brute_force(points, n=7, m=3) == Count(found)(n=7, m=3)


N = Polynomial.atom("n")
POSITIVE = Polytope((), (), (form(-1, n=1),))  # n >= 1


def test_periods():
    # floor((3*i + n)/12) repeats its remainder every 4 values of i and every 12 of n
    subject = N * N + floor(form(i=3, n=1), 12)
    assert (4, 12, 1) == (subject.period("i"), subject.period("n"), subject.period("k"))


def test_values_under_one_condition_are_added():
    values = values_of([PartialSum(POSITIVE, N), PartialSum(POSITIVE, N * N), PartialSum(Polytope((), (), ()), N)])
    assert {"1*n + -1 >= 0": N + N * N, "1 = 1": N} == values


def test_totals():
    low, high = {"n >= 0": N}, {"n >= 0": N, "n >= 3": Polynomial.constant(Fraction(1, 2))}
    total = total_of(joined(low, high), ["n"])
    assert [0, 2, 4, Fraction(13, 2)] == [Count(total)(n=n) for n in range(4)]
    assert isl.PwQPolynomial("{ 0 }").plain_is_equal(total_of({}, []))


def test_too_many_terms(monkeypatch):
    monkeypatch.setattr(summation, "TERMS", 1)
    with pytest.raises(TooHardError):
        joined({"n >= 0": N}, {"n >= 3": N})


@pytest.mark.parametrize(("expected", "text"), [
    (True, "[n] -> { n - 16*floor(n/16) : n mod 16 = 0 }"),
    (False, "[n] -> { n - 16*floor(n/16) : n mod 8 = 0 }"),
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
    (True, "[n] -> { floor((floor(n/3) + n)/5) - floor((4*n - (n mod 3))/15) }"),
])  # fmt: skip
def test_vanishing(expected, text):
    assert expected == vanishes(quasi_polynomial_of(isl.PwQPolynomial(text)))


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
def test_functions_that_vanish_are_zero(text):
    values = Count.from_text(text)
    if vanishes(values.function):
        assert all(values(n=n, m=m) == 0 for n in range(13) for m in range(13))
