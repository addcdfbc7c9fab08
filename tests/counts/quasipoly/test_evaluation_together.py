"""Several functions as one, beside each of them alone."""

from __future__ import annotations

from fractions import Fraction

from perfmodel.counts.quasipoly.count import Count
from perfmodel.counts.quasipoly.evaluation import QuasiPolynomial, together

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


def test_values_are_integers_where_they_can_be() -> None:
    thirds = Count.from_text("[n] -> { 1/3*n }").function
    assert [(Fraction(4, 3), 0), (2, 0)] == [
        together([thirds, QuasiPolynomial((), (), ())]).function(n) for n in (4, 6)
    ]
    assert [Fraction, int] == [type(together([thirds]).function(n)[0]) for n in (4, 6)]


def test_nothing_has_no_value() -> None:
    assert () == together([]).function()
