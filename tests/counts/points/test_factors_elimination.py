"""Projections along one variable and unions of products, against the enumeration of points."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings, strategies as st

from perfmodel.counts.points.factors import PRODUCTS, Factors, alternating, eliminated
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


def interval(name: str, first: int, last: int) -> Polytope:
    return Polytope((name,), (), (form(-first, **{name: 1}), form(last, **{name: -1})))


def points(factors: Factors) -> set[tuple[int, ...]]:
    return {sum(parts, ()) for parts in product(*(points_of(factor, 9) for factor in factors))}


@pytest.mark.parametrize(
    "corners", [[(0, 5)], [(0, 3), (2, 2)], [(0, 1), (1, 3), (2, 0)], [(0, 0), (1, 1), (2, 2), (3, 3)]]
)
def test_signed_products_add_up_to_the_union(corners):
    union = [(interval("x", a, a + 3), interval("y", b, b + 2)) for a, b in corners]
    found = [(sign, points(factors)) for sign, factors in alternating(union)]
    everywhere = set().union(*(points(factors) for factors in union))
    assert dict.fromkeys(everywhere, 1) == {
        point: sum(sign for sign, part in found if point in part) for _, whole in found for point in whole
    }


def test_an_intersection_keeps_no_row_that_follows_from_another():
    *_, (sign, (common,)) = alternating([(interval("x", 0, 5),), (interval("x", 2, 9),)])
    assert (-1, {form(-2, x=1), form(5, x=-1)}) == (sign, {*common.inequalities})


def test_what_is_not_known_stays_so():
    assert [(1, (None,)), (1, (interval("x", 0, 1),)), (-1, (None,))] == list(
        alternating([(None,), (interval("x", 0, 1),)])
    )
    assert [(1, (None,))] == list(alternating([(interval("x", k, k),) for k in range(PRODUCTS + 1)]))
