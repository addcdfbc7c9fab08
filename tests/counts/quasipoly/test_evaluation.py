"""Quasi-polynomials written by hand, at one point each."""

from __future__ import annotations

from fractions import Fraction

from perfmodel.counts.points.polytopes import NamedFloor, Polynomial, Polytope
from perfmodel.counts.quasipoly.evaluation import Piece, PythonSource, QuasiPolynomial
from tests.counts.points.forms import form

AT_LEAST_5 = Polytope((), (), (form(-5, n=1),))
AT_2 = Polytope((), (form(-2, n=1),), ())
HALF = NamedFloor("half", form(1, n=1), 2)  # floor((n + 1)/2)
N = Polynomial.atom("n")
#: n^2/3 + floor((n + 1)/2) where n >= 5, and 7 where n = 2
SUBJECT = QuasiPolynomial(
    ("n",), (HALF,),
    (
        Piece((AT_LEAST_5,), N * N * Fraction(1, 3) + Polynomial.atom("half")),
        Piece((AT_2,), Polynomial.constant(7)),
    ),
)


def test_exact_values():
    assert [0, 7, 0] == [SUBJECT.exact(n) for n in (1, 2, 3)]
    assert Fraction(25, 3) + 3 == SUBJECT.exact(5)
    assert 12 + 3 == SUBJECT.exact(6)
    assert type(SUBJECT.exact(6)) is int


def test_guards():
    where = QuasiPolynomial(("n",), (), tuple(Piece(p.guard, Polynomial.constant(1)) for p in SUBJECT.pieces))
    assert [0, 1, 0, 1] == [where.exact(n) for n in (1, 2, 4, 5)]
    source = PythonSource(("n",), ())
    assert "x0 - 5 >= 0 or x0 - 2 == 0" == source.guard((AT_LEAST_5, AT_2))
    assert "True" == source.guard((Polytope((), (), ()), AT_LEAST_5))
    assert "False" == source.guard(())
    assert 0 == QuasiPolynomial((), (), ()).exact()
