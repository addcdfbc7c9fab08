"""Polytopes: their text, their constraints on one name, and the way from isl's sets and back."""

import islpy as isl
import pytest

from perfmodel.counts.points.polytopes import NamedFloor, Polytope, polytope_of, reduced
from tests.counts.points.forms import form, points_of


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
