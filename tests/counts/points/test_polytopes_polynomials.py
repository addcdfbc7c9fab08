"""Polynomials with floors, against hand-derived formulas and plain Python."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import prod

import pytest

from perfmodel.counts.points.polytopes import FloorAtom, Polynomial, faulhaber, floor
from tests.counts.points.forms import form

I, N = Polynomial.atom("i"), Polynomial.atom("n")  # noqa: E741
def value(polynomial: Polynomial, **values: int) -> Fraction:
    """Evaluate a polynomial in plain Python."""

    def of(atom: str | FloorAtom) -> int:
        return values[atom] if isinstance(atom, str) else atom.form.at(values) // atom.denominator

    return sum((c * prod(of(a) ** e for a, e in m) for m, c in polynomial.terms.items()), Fraction(0))


@pytest.mark.parametrize("denominator", [1, 2, 3, 6])
def test_floors_in_plain_python(denominator):
    for a, b, c in product(range(-4, 5, 2), range(-3, 4), range(-2, 3)):
        subject = floor(form(c, **{name: k for name, k in (("i", a), ("n", b)) if k}), denominator)
        for i, n in product(range(-3, 4), repeat=2):
            assert (a * i + b * n + c) // denominator == value(subject, i=i, n=n)


def test_substitution_reaches_into_floors():
    half = floor(form(i=1), 2)
    assert Polynomial.atom("j") == half.substituted("i", form(1, j=2))  # floor((2*j + 1)/2)
    squared = (I * I + half).substituted("i", form(j=2))
    assert Polynomial.atom("j") * Polynomial.atom("j") * 4 + Polynomial.atom("j") == squared


def test_periods():
    # floor((3*i + n)/12) repeats its remainder every 4 values of i and every 12 of n
    subject = I * I + floor(form(i=3, n=1), 12)
    assert (4, 12, 1) == (subject.period("i"), subject.period("n"), subject.period("k"))


def test_power_sums():
    # 1 + ... + t^3 terms: t^2*(t + 1)^2/4 = t^4/4 + t^3/2 + t^2/4
    assert (0, 0, Fraction(1, 4), Fraction(1, 2), Fraction(1, 4)) == faulhaber(3)
    for power in range(6):
        for t in range(5):
            expected = sum(x**power for x in range(1, t + 1))
            assert expected == sum(c * t**k for k, c in enumerate(faulhaber(power)))


def test_sums_over_a_variable():
    total = (I * I + N).summed("i", Polynomial.constant(2), N)  # over 2 < i <= n
    for n in range(2, 9):
        assert sum(i * i + n for i in range(3, n + 1)) == value(total, n=n)
