"""Polytopes: their text, their constraints on one name, and the way from isl's sets and back."""

from __future__ import annotations

import islpy as isl
import pytest

from perfmodel.counts.points.polytopes import NamedFloor, Polytope, polytope_of, reduced
from tests.counts.points.forms import form, points_of

TRIANGLE = Polytope(("i", "j"), (), (form(j=1), form(i=1, j=-1), form(-1, n=1, i=-1)))


def test_text():
    expected = isl.Set("[n] -> { [i, j] : 0 <= j <= i < n }")
    assert expected == isl.Set(str(TRIANGLE))
    assert "[] -> { [] : 1 = 1 }" == str(Polytope((), (), ()))
    assert "[_e0, n] -> { [x] : 1*x + -1*_e0 + 1*n = 0 }" == str(Polytope(("x",), (form(x=1, _e0=-1, n=1),), ()))


def test_bounds_of_a_name():
    lower, upper, others = TRIANGLE.bounds("i")
    assert ([form(i=1, j=-1)], [form(-1, n=1, i=-1)], [form(j=1)]) == (lower, upper, others)


def test_substitution_keeps_the_variables():
    moved = TRIANGLE.substituted("j", form(1, k=2))
    assert ("i", "j") == moved.variables
    assert (form(1, k=2), form(-1, i=1, k=-2), form(-1, n=1, i=-1)) == moved.inequalities
    assert ("i",) == moved.without("j").variables


def test_reduction():
    loose = Polytope(("x",), (), (form(x=1), form(3, x=1), form(5, x=-1)))
    assert {form(x=1), form(5, x=-1)} == {*reduced(loose).inequalities}
    point = reduced(Polytope(("x",), (), (form(-3, x=1), form(3, x=-1))))
    assert {(3,)} == points_of(point)
    assert () == point.inequalities
    assert reduced(Polytope(("x",), (), (form(x=1), form(-1, x=-1)))) is None


@pytest.mark.parametrize("n", [1, 2, 7])
def test_floors_of_variables_become_variables(n):
    (basic,) = isl.Set("[n] -> { [i] : 0 <= i < n and i mod 3 = 1 }").get_basic_sets()
    polytope, derived = polytope_of(basic)
    assert (("_v0", "_e0"), ()) == (polytope.variables, derived)
    assert {(i, i // 3) for i in range(n) if i % 3 == 1} == points_of(polytope, n=n)


def test_floors_of_parameters_become_parameters():
    (basic,) = isl.Set("[n] -> { [i] : 0 <= i < 5 and i <= 7*floor(n/4) }").get_basic_sets()
    polytope, derived = polytope_of(basic, ("i",))
    assert (("i",), (NamedFloor("_e0", form(n=1), 4),)) == (polytope.variables, derived)
    assert {(i,) for i in range(5)} == points_of(polytope, n=6, _e0=1)
    assert {(0,)} == points_of(polytope, n=3, _e0=0)
