"""isl's functions and sets as values: the same numbers, and the parts that are expected."""

from __future__ import annotations

from fractions import Fraction

import islpy as isl

from perfmodel.counts.quasipoly.evaluation import Affine, Constraint, Floor, Piece, Term
from perfmodel.counts.quasipoly.translation import fraction, indicator_of, quasi_polynomial_of


def test_parts_of_a_function():
    found = quasi_polynomial_of(isl.PwQPolynomial("[m, n] -> { 1/2*n*floor((n + 7)/8) : n >= 3 }"))
    assert ("n",) == found.parameters
    assert (Floor(Affine(7, ((0, 1),)), 8),) == found.floors
    guard = ((Constraint(Affine(-3, ((0, 1),)), False),),)
    assert (Piece(guard, (Term(Fraction(1, 2), ((0, 1), (1, 1))),)),) == found.pieces


def test_pieces_of_equal_value_are_one():
    found = quasi_polynomial_of(isl.PwQPolynomial("[n] -> { 5 : n >= 8; 5 : n = 2; 0 : n = 3 }"))
    assert 1 == len(found.pieces)
    assert [0, 5, 0, 0, 5] == [found.exact(n) for n in (1, 2, 3, 7, 8)]


def test_indicator():
    found = indicator_of(isl.Set("[n] -> { : n >= 4 and n mod 3 = 1 }"))
    assert [n for n in range(15) if n >= 4 and n % 3 == 1] == [n for n in range(15) if found.holds(n)]
    assert [0, 1] == [found.exact(n) for n in (1, 4)]


def test_fractions():
    assert Fraction(-3, 4) == fraction(isl.Val("-3/4"))
