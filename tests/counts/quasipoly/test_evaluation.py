"""Quasi-polynomials written by hand, at one point each."""

from __future__ import annotations

from fractions import Fraction

from perfmodel.counts.quasipoly.evaluation import Affine, Constraint, Floor, Piece, QuasiPolynomial, Term, guard_source

N_MINUS_5 = Affine(-5, ((0, 1),))
HALF = Floor(Affine(1, ((0, 1),)), 2)  # floor((n + 1)/2)
#: n^2/3 + floor((n + 1)/2) where n >= 5, and 7 where n = 2
SUBJECT = QuasiPolynomial(
    ("n",), (HALF,),
    (
        Piece(((Constraint(N_MINUS_5, False),),), (Term(Fraction(1, 3), ((0, 2),)), Term(Fraction(1), ((1, 1),)))),
        Piece(((Constraint(Affine(-2, ((0, 1),)), True),),), (Term(Fraction(7), ()),)),
    ),
)


def test_exact_values():
    assert [0, 7, 0] == [SUBJECT.exact(n) for n in (1, 2, 3)]
    assert Fraction(25, 3) + 3 == SUBJECT.exact(5)
    assert 12 + 3 == SUBJECT.exact(6)
    assert type(SUBJECT.exact(6)) is int


def test_guards():
    assert [False, True, False, True] == [SUBJECT.holds(n) for n in (1, 2, 4, 5)]
    assert "x0 - 5 >= 0 or x0 - 2 == 0" == guard_source(
        ((Constraint(N_MINUS_5, False),), (Constraint(Affine(-2, ((0, 1),)), True),))
    )
    assert "True" == guard_source(((), (Constraint(N_MINUS_5, False),)))
    assert "False" == guard_source(())
    assert not QuasiPolynomial((), (), ()).holds()
