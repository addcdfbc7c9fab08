"""Sets as products of factors, against the enumeration of points."""

from itertools import product

import islpy as isl
import pytest
from hypothesis import given, settings, strategies as st

from perfmodel.counts.points.factors import (
    PRODUCTS,
    Factors,
    Multiple,
    alternating,
    eliminated,
    factored,
    projected,
    straightened,
    without_tiles,
)
from perfmodel.counts.points.polytopes import Polytope
from tests.counts.points.forms import form, points_of

TILES = isl.Set(
    "[n] -> { [i, ii, j, jj] : 0 <= ii < 4 and 0 <= 4i + ii < n and 0 <= jj < 4 and 0 <= 4j + jj < n and n >= 3 }"
)


def test_tiles_couple_in_pairs():
    found = factored(TILES)
    first, second = found.factors
    assert ("_v0", "_v1") == first.variables
    assert ("_v2", "_v3") == second.variables
    assert first.canonical == second.canonical
    assert ((form(-3, n=1),), (), True) == (found.conditions, found.multiples, found.separable)
    for n in (3, 6):
        expected = {(z // 4, z % 4) for z in range(n)}
        assert expected == points_of(first, 4, n=n) == points_of(second, 4, n=n)


def test_a_parameter_that_is_a_multiple():
    # n = 8*m + 3, so that 8*i < n is i <= m
    found = factored(isl.Set("[n] -> { [i] : 0 <= 8i < n and n mod 8 = 3 }"))
    multiple = Multiple("n", 3, 8)
    (factor,) = found.factors
    assert (multiple,) == found.multiples
    assert {form(_v0=1), form(_v0=-1, **{multiple.name: 1})} == {*factor.inequalities}
    assert () == factor.equalities == found.conditions


def test_overlapping_tiles():
    """A floor that is eliminated leaves isl's own constraints coupled."""
    where = "n mod 8 = 0 and n >= 8"
    found = factored(isl.Set(f"[n] -> {{ [x] : exists e : 0 <= 8e < n and 8e <= x <= 8e + 9 and {where} }}"))
    (factor,) = found.factors
    assert not found.separable
    assert {(x,) for x in range(18)} == points_of(factor, 30, **{"(n - 0)/8": 2})


@pytest.mark.parametrize("text", [
    "[n] -> { [i] : 0 <= i < n or i = 2n }",  # a union
    "[n] -> { [i] : 0 <= i < n and i mod 3 = 1 }",  # a floor that leaves gaps
])  # fmt: skip
def test_no_products(text):
    assert factored(isl.Set(text)) is None


@pytest.mark.parametrize(("n", "m"), [(5, 3), (9, 12)])
def test_the_tiles_of_a_factor_are_merged(n, m):
    """Tiles of i, below m + t, and of j; the loop over t couples all, so that no factor is an interval."""
    found = factored(isl.Set(
        "[n, m] -> { [i, ii, j, jj, t] : 0 <= ii < 4 and 0 <= jj < 4 and t <= 4i + ii < m + t and 0 <= t < 3"
        " and t <= 4j + jj < n + t and 4i + ii + 4j + jj <= 2n }"
    ))
    (factor,) = found.factors
    merged_points = found.straightened_points(factor)
    assert 3 == merged_points.dim(isl.dim_type.set)
    expected = sum(i + j <= 2 * n for t in range(3) for i in range(t, m + t) for j in range(t, n + t))
    sizes = isl.Set(f"[n, m] -> {{ : n = {n} and m = {m} }}")
    assert expected == merged_points.intersect_params(sizes).count_val().to_python()


def test_an_equality_gives_the_variable():
    # e = 2*x + 1 and 0 <= e <= 9 leave 0 <= 2*x + 1 <= 9
    tied = Polytope(("x", "e"), (form(1, x=2, e=-1),), (form(e=1), form(9, e=-1)))
    assert {(x,) for x in range(5)} == points_of(eliminated(tied, "e"))
    assert eliminated(tied, "x") is None  # e is odd


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


def test_what_is_not_known_stays_so():
    assert [(1, (None,)), (1, (interval("x", 0, 1),)), (-1, (None,))] == list(
        alternating([(None,), (interval("x", 0, 1),)])
    )
    assert [(1, (None,))] == list(alternating([(interval("x", k, k),) for k in range(PRODUCTS + 1)]))


SET = isl.dim_type.set
DOMAINS = {
    "tiles": "[n] -> { [i, ii, j, jj, k] : 0 <= ii < 8 and 0 <= 8i + ii < n and 0 <= jj < 4 "
             "and 0 <= 4j + jj < n and 0 <= k < 3 }",
    "triangle": "[n] -> { [i, j, k] : 0 <= j <= i < n and 0 <= k < n - 2 }",
    "empty for small n": "[n] -> { [i, j] : 0 <= i < n and 5 <= j < n }",
    "floors": "[n] -> { [i, j] : 0 <= i < n and i mod 3 = 0 and 2j = i }",
    "a union": "[n] -> { [i, j] : 0 <= i < n and (j = i or 5 <= j < 9) }",
    "a condition": "[n] -> { [i, j] : 0 <= i < 4 and 0 <= j < 5 and n >= 7 }",
}


@pytest.mark.parametrize("text", DOMAINS.values(), ids=DOMAINS.keys())
def test_every_projection_is_that_of_the_whole(text):
    whole = isl.Set(text)
    names = whole.get_var_names(SET)
    for first in names:
        for kept in ([first], *([first, other] for other in names if other != first)):
            found = projected(whole, kept)
            assert kept == found.get_var_names(SET)
            expected = isl.Set(text).project_out_except(kept, [SET])
            if expected.get_var_names(SET) == kept:
                assert expected.is_equal(found)


TILE_OF_FOUR = Polytope(
    ("i", "j"), (), (form(i=1), form(j=1), form(3, j=-1), form(-1, n=1, i=-4, j=-1))
)  # 0 <= j < 4, 0 <= i and 4*i + j < n


def test_a_determined_variable_is_left_out():
    # 0 <= x - 3*e <= 2 gives one e for each x
    found = without_tiles(Polytope(("x", "e"), (), (form(x=1, e=-3), form(2, x=-1, e=3), form(x=1), form(7, x=-1))))
    assert Polytope(("x",), (), (form(x=1), form(7, x=-1))) == found


@pytest.mark.parametrize("n", [1, 4, 7])
@pytest.mark.parametrize("subject", [
    TILE_OF_FOUR,
    # a tile with a lower and an upper bound, and one with an offset that begins at 2
    Polytope(("i", "j"), (), (form(-1, i=1), form(n=1, i=-1), form(j=1), form(3, j=-1))),
    Polytope(("i", "j"), (), (form(i=1), form(-2, j=1), form(5, j=-1), form(1, n=1, i=-4, j=-1))),
    # k = i + j and 2*m = k + j + i
    Polytope(("i", "k", "j"), (form(i=1, j=1, k=-1),), (form(i=1), form(j=1), form(n=1, k=-1))),
    Polytope(("k", "i", "m"), (form(m=2, k=-1, i=-1), form(k=1, i=-1)), (form(i=1), form(n=1, i=-1))),
])  # fmt: skip
def test_the_number_of_points_stays(subject, n):
    assert len(points_of(subject, n=n)) == len(points_of(straightened(subject), 40, n=n))
