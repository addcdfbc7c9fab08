"""Projections along one variable, against the enumeration of points."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perfmodel.counts.points.elimination import eliminated
from perfmodel.counts.points.polytopes import Polytope
from tests.counts.points.forms import form, points_of


def test_a_projection_of_integers_need_not_be_a_polytope():
    gaps = Polytope(("x", "e"), (), (form(x=1, e=-3), form(1, x=-1, e=3)))
    assert eliminated(gaps, "e") is None  # x is 0 or 1 modulo 3


def test_a_projection_without_gaps_is_one():
    full = Polytope(("x", "e"), (), (form(x=1, e=-3), form(2, x=-1, e=3), form(e=1)))
    found = eliminated(full, "e")
    assert found == Polytope(("x",), (), (form(x=1),))


def test_an_equality_gives_the_variable():
    # e = 2*x + 1 and 0 <= e <= 9 leave 0 <= 2*x + 1 <= 9
    tied = Polytope(("x", "e"), (form(1, x=2, e=-1),), (form(e=1), form(9, e=-1)))
    assert {(x,) for x in range(5)} == points_of(eliminated(tied, "e"))
    assert eliminated(tied, "x") is None  # e is odd


def test_another_equality_may_give_it():
    # 2*x = y + z does not give x, but x = z does
    tied = Polytope(("x", "y", "z"), (form(x=2, y=-1, z=-1), form(x=1, z=-1)), ())
    assert Polytope(("y", "z"), (form(z=1, y=-1),), ()) == eliminated(tied, "x")


COEFFICIENT = st.integers(-3, 3)


@settings(max_examples=80, deadline=None, derandomize=True, database=None)
@given(st.lists(st.tuples(COEFFICIENT, COEFFICIENT, st.integers(-5, 5)), max_size=3))
def test_random_polygons(rows):
    box = [form(4, x=1), form(4, x=-1), form(4, e=1), form(4, e=-1)]
    cuts = [form(c, **{k: v for k, v in (("x", a), ("e", b)) if v}) for a, b, c in rows]
    polygon = Polytope(("x", "e"), (), (*box, *cuts))
    found = eliminated(polygon, "e")
    if found is not None:
        assert {(x,) for x, _ in points_of(polygon, 5)} == points_of(found, 5)


@pytest.mark.parametrize(("expected", "constant"), [(Polytope(("x",), (), ()), 1), (None, 0)])
def test_slack_of_two_coefficients(expected, constant):
    # 2*e >= 2*x and 3*e <= 3*x + c: 2*(3*x + c) - 3*(2*x) = 2*c, and (2 - 1)*(3 - 1) = 2 is needed
    rows = (form(e=2, x=-2), form(constant, e=-3, x=3))
    assert expected == eliminated(Polytope(("x", "e"), (), rows), "e")
